# SPDX-License-Identifier: Apache-2.0
"""``slipring bridge``: topics over the network."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Iterator
from typing import Any

import click

import slipring
from slipring.cli.terminal import output
from slipring.cli.terminal.options import (
    Target,
    complete_buses,
    complete_sources,
    format_option,
    period,
    seconds,
    start,
)
from slipring.cli.terminal.output import Column
from slipring.cli.terminal.process_exit import complain
from slipring.units import number

_COLUMNS = (
    Column("topic"),
    Column("target"),
    Column("state"),
    Column("source seq", right=True),
    Column("target seq", right=True),
    Column("mirrored", right=True),
    Column("lag", right=True),
    Column("lost", right=True),
    Column("problem"),
)


@click.group(short_help="Carry topics between hosts.")
def command() -> None:
    """Carry topics between hosts, through ZeroMQ.

    `serve` exports a bus of this host; programs and all other verbs reach it from other hosts as the bus
    zmq+tcp://HOST:PORT/BUS. `mirror` copies topics from one bus to another. `keys` makes keys for both.
    """


class _Complaints(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        complain(self.format(record))


@contextlib.contextmanager
def _complaining() -> Iterator[None]:
    """Write the bridge's log to stderr: topics that cannot be used, peers that are refused."""
    log, handler = logging.getLogger("slipring.bridge"), _Complaints(logging.WARNING)
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)


def _given(**options: Any) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value not in (None, False, ())}


_CONFIG = click.option("--config", type=click.Path(dir_okay=False), help="A TOML file; options override it.")


@command.command(short_help="Export a bus to other hosts.")
@click.option(
    "--address", metavar="tcp://HOST:PORT", help="Address to listen on.  [default: tcp://127.0.0.1:5555]"
)
@click.option("--key", metavar="FILE", help="The server's secret key; clients then need keys, too.")
@click.option("--clients", metavar="DIR", help="The public keys of the clients that may connect.")
@click.option("--insecure", is_flag=True, help="Allow other addresses than loopback without keys.")
@click.option(
    "--linger", "linger_s", type=seconds, help="Time for which a disconnected client keeps its handles."
)
@click.option(
    "--max-message", metavar="SIZE", help="The largest message a client may publish.  [default: 64MiB]"
)
@click.option(
    "--state",
    metavar="DIR",
    help="Directory of sequences of published messages.  [default: beside the bus]",
)
@_CONFIG
@click.pass_obj
def serve(target: Target, /, config: str | None, **options: Any) -> None:
    """Export a bus until stopped. The first line on stdout is the address of the bus."""
    from slipring.bridge import Server
    from slipring.bridge.config import load

    settings = (load(config)["serve"] if config else {}) | _given(**options)
    bus_name, root = settings.pop("bus", target.name), settings.pop("root", target.root)
    with _complaining(), slipring.Bus(bus_name, root=root) as bus, Server(bus, **settings) as server:
        output.put_line(server.address)
        server.run()


@command.command(short_help="Copy topics from one bus to another.")
@click.argument("topics", nargs=-1, metavar="TOPIC[:NEWNAME]...", shell_complete=complete_sources)
@click.option(
    "--from",
    "source",
    metavar="BUS",
    shell_complete=complete_buses,
    help="Name or address of the source.  [default: --bus]",
)
@click.option(
    "--to",
    "target_bus",
    metavar="BUS",
    shell_complete=complete_buses,
    help="Name or address of the target.",
)
@click.option(
    "--name", help="Name of this mirror; a restart with the same name continues it.  [default: mirror]"
)
@click.option(
    "--start",
    type=start,
    metavar="new|last|oldest|SEQ",
    help="First message of the first run.  [default: oldest]",
)
@click.option(
    "--lossy", is_flag=True, help="Never delay publishers of reliable topics; count missed messages."
)
@click.option("--interval", type=period, default=1.0, show_default=True, help="Time between two reports.")
@click.option("--seconds", "limit_s", type=seconds, help="End after this time.")
@_CONFIG
@format_option()
@click.pass_obj
def mirror(
    target: Target,
    /,
    topics: tuple[str, ...],
    config: str | None,
    interval: float,
    limit_s: float | None,
    form: str,
    source: str | None,
    target_bus: str | None,
    **options: Any,
) -> None:
    """Copy each TOPIC until stopped. TOPIC is a name or a pattern; * in NEWNAME stands for its name.

    Every message is published once at the target, with its sender, type and time stamp, also if processes are killed
    and restarted meanwhile. Lag and loss are shown live; with --format json, one object per interval and line.
    """
    from slipring.bridge.config import load

    entries = load(config)["mirror"] if config else []
    if topics or not entries:
        given = _given(topics=list(topics), **{"from": source, "to": target_bus}, **options)
        entries = [*entries, given]
    with contextlib.ExitStack() as stack:
        mirrors = [_open(target, entry, stack) for entry in entries]
        _report(mirrors, interval, form, limit_s)


def _open(target: Target, entry: dict[str, Any], stack: contextlib.ExitStack) -> Any:
    from slipring.bridge import Mirror

    settings = dict(entry)
    topics, to = settings.pop("topics", []), settings.pop("to", None)
    if not topics:
        raise click.UsageError("give at least one TOPIC, or a --config with [[mirror]]")
    if to is None:
        raise click.UsageError("give --to BUS: a name on this host or zmq+tcp://HOST:PORT/BUS")
    root = settings.pop("root", target.root)
    names = settings.pop("from", None) or target.name, to
    here, there = (
        stack.enter_context(slipring.Bus(name, root=None if "://" in name else root)) for name in names
    )
    mirror = Mirror(here, there, topics, **settings)
    stack.callback(mirror.close)
    return mirror.start()


def _report(mirrors: list[Any], interval: float, form: str, limit_s: float | None) -> None:
    ends = float("inf") if limit_s is None else time.monotonic() + limit_s
    if form == "table" and output.on_terminal():
        from rich.live import Live

        with Live(screen=True, auto_refresh=False) as live:
            while time.monotonic() < ends:
                live.update(
                    output.rich_table(_COLUMNS, _cells(mirrors), "mirror  (Ctrl-C ends)"), refresh=True
                )
                time.sleep(interval)
        return
    complain("mirroring")
    with _complaining():
        while time.monotonic() < ends:
            time.sleep(min(interval, max(0.0, ends - time.monotonic())))
            _report_once(mirrors, form)


def _report_once(mirrors: list[Any], form: str) -> None:
    if form == "json":
        topics = [{"mirror": mirror.name, **status} for mirror in mirrors for status in mirror.status()]
        output.put_json({"time_ns": time.time_ns(), "topics": topics})
    else:
        output.put_table(_COLUMNS, _cells(mirrors))


def _cells(mirrors: list[Any]) -> list[list[str]]:
    def shown(value: int | None) -> str:
        return "-" if value is None else number(value)

    return [
        [
            status["topic"],
            status["target"],
            status["state"],
            *(shown(status[name]) for name in ("source_seq", "target_seq", "mirrored", "lag", "lost")),
            status["problem"],
        ]
        for mirror in mirrors
        for status in mirror.status()
    ]


@command.command(short_help="Make a pair of keys.")
@click.argument("directory", type=click.Path(file_okay=False))
@click.argument("name")
def keys(directory: str, name: str) -> None:
    """Make DIRECTORY/NAME.key (public) and DIRECTORY/NAME.secret (mode 0600) for a server or a client."""
    from slipring.bridge import keys as key_files

    for path in key_files.create(directory, name):
        output.put_line(str(path))


@command.command(short_help="Remove records about topics that no longer exist.")
@click.option("--state", metavar="DIR", help="Directory of the records.  [default: beside the bus]")
@click.pass_obj
def tidy(target: Target, state: str | None) -> None:
    """Remove the records of servers and mirrors about topics of this bus that no longer exist."""
    from slipring.bridge import origin_files

    with target.open() as bus:
        origin_files.tidy(bus, origin_files.directory_of(bus, state))
