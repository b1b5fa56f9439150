# SPDX-License-Identifier: Apache-2.0
"""``slipring call``: call a method of a service."""

from __future__ import annotations

import base64
import json
from typing import Any

import click

from slipring.cli.terminal import tables
from slipring.cli.terminal.known_names import hinted_service
from slipring.cli.terminal.options import Target, complete_services, seconds


@click.command()
@click.argument("service", shell_complete=complete_services)
@click.argument("method")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[ARGUMENT]...")
@click.option(
    "--timeout", type=seconds, default=5.0, show_default=True, help="How long to wait for the answer."
)
@click.option("--wait", type=seconds, default=0.0, help="How long to wait for a server to be there.")
@click.option("--stream", is_flag=True, help="Print the parts of an answer as they come, one a line.")
@click.pass_obj
def command(
    target: Target,
    service: str,
    method: str,
    arguments: tuple[str, ...],
    timeout: float,
    wait: float,
    stream: bool,
) -> None:
    """Call METHOD of SERVICE and print its answer as JSON.

    Each ARGUMENT is JSON (1, true, '"text"', '[1, 2]'), or else taken as text; NAME=JSON is a named one.
    """
    args, kwargs = _arguments(arguments)
    with (
        target.open() as bus,
        hinted_service(bus, service),
        bus.client(service, timeout=timeout) as client,
    ):
        if wait:
            client.wait_for_server(wait)
        if stream:
            for part in client.stream(method, *args, **kwargs):
                tables.put_json(part, _plain)
        else:
            tables.put_json(client.call(method, *args, **kwargs), _plain)


def _arguments(given: tuple[str, ...]) -> tuple[list[Any], dict[str, Any]]:
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for argument in given:
        name, equals, value = argument.partition("=")
        if equals and name.isidentifier():
            kwargs[name] = _value(value)
        elif kwargs:
            raise click.UsageError(f"{argument!r} follows a named argument: put it before")
        else:
            args.append(_value(argument))
    return args, kwargs


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _plain(value: object) -> object:
    """What JSON does not know: bytes as {"base64": …}, the rest as text."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        return {"base64": base64.b64encode(value).decode()}
    return str(value)
