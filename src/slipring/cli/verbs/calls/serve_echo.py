# SPDX-License-Identifier: Apache-2.0
"""``slipring serve-echo``: a service for trying calls."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from typing import Any

import click

import slipring
from slipring.cli.terminal.options import TIMES, Target
from slipring.cli.terminal.process_exit import complain


@click.command()
@click.argument("service", default="echo")
@click.option(
    "--workers", type=TIMES, default=1, show_default=True, help="Number of methods that run at once."
)
@click.pass_obj
def command(target: Target, service: str, workers: int) -> None:
    """Answer calls to SERVICE until Ctrl-C.

    Its methods are echo(value), add(a, b), sleep(seconds), count(n), which returns a stream, fail(text), which raises
    an error, and size(bytes).
    """
    with target.open() as bus, bus.server(service, workers=workers) as server:
        _offer(server)
        server.start()
        complain(f"serving '{service}' until Ctrl-C; try: {target.command()} call {service} add 1 2")
        server.run()


def _offer(server: slipring.Server) -> None:
    @server.method
    def echo(value: Any = None) -> Any:
        return value

    @server.method
    def add(a: Any, b: Any) -> Any:
        return a + b

    @server.method
    async def sleep(seconds: float) -> float:
        begun = time.monotonic()
        await asyncio.sleep(seconds)
        return time.monotonic() - begun

    @server.method
    def count(n: int) -> Iterator[int]:
        yield from range(n)

    @server.method
    def fail(text: str = "as asked") -> None:
        raise RuntimeError(text)

    @server.method
    def size(bytes: int) -> str:
        return "x" * bytes
