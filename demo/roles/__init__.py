# SPDX-License-Identifier: Apache-2.0
"""What the seats do. Each module has one function, play(part), that returns when the part is told to end."""
