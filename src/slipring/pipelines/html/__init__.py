# SPDX-License-Identifier: Apache-2.0
"""HTML pages of reports, of the demo and of the soak test, and fragments for notebooks. They load nothing.

document    a whole page: frame, style (style.css: colours of light and dark, text, tiles, tables), script
markup      elements as text; escaping of text from recordings
svg         drawings with texts: scales, axes, lines
"""
