# SPDX-License-Identifier: Apache-2.0
"""``slipring call``: call a method of a service."""

from __future__ import annotations

import base64
import json
from typing import Any

import click

from slipring.cli.terminal import output
from slipring.cli.terminal.known_names import hinted_service
from slipring.cli.terminal.options import Target, complete_services, seconds


@click.command()
@click.argument("service", shell_complete=complete_services)
@click.argument("method")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[ARGUMENT]...")
@click.option("--timeout", type=seconds, default=5.0, show_default=True, help="Time to wait for the answer.")
@click.option("--wait", type=seconds, default=0.0, help="Time to wait for a server.")
@click.option("--stream", is_flag=True, help="Print the parts of an answer as they arrive, one per line.")
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

    Each ARGUMENT is JSON (1, true, '"text"', '[1, 2]') or plain text; NAME=JSON is a named argument.
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
                output.put_json(part, _plain)
        else:
            output.put_json(client.call(method, *args, **kwargs), _plain)


def _arguments(given: tuple[str, ...]) -> tuple[list[Any], dict[str, Any]]:
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for argument in given:
        name, equals, value = argument.partition("=")
        if equals and name.isidentifier():
            kwargs[name] = _value(value)
        elif kwargs:
            raise click.UsageError(f"{argument!r} follows a named argument: put it before the named ones")
        else:
            args.append(_value(argument))
    return args, kwargs


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _plain(value: object) -> object:
    """Convert values without a JSON type: bytes to {"base64": …}, others to text."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        return {"base64": base64.b64encode(value).decode()}
    return str(value)
