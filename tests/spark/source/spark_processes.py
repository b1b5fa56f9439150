# SPDX-License-Identifier: Apache-2.0
"""Find Spark's processes, for tests that kill them."""

from pathlib import Path


def _processes() -> dict[int, tuple[int, str]]:
    """Return the parent and command line of each process."""
    found = {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            parent = int(path.joinpath("stat").read_text().rsplit(")", 1)[1].split()[1])
            found[int(path.name)] = parent, path.joinpath("cmdline").read_bytes().decode().replace("\0", " ")
        except (FileNotFoundError, ProcessLookupError):
            continue  # the process ended
    return found


def jvm(session) -> int:
    return session.sparkContext._gateway.proc.pid


def source_processes(jvm_pid: int) -> list[int]:
    """Return the source processes of the running queries; each holds the cursors of one query."""
    return [
        pid
        for pid, (parent, command) in _processes().items()
        if parent == jvm_pid and "python_streaming_source_runner" in command
    ]


def workers(jvm_pid: int) -> list[int]:
    """Return the Python workers that read and transform."""
    processes = _processes()
    daemons = {pid for pid, (parent, line) in processes.items() if parent == jvm_pid and "daemon" in line}
    return [pid for pid, (parent, _) in processes.items() if parent in daemons]
