# SPDX-License-Identifier: Apache-2.0
"""Addresses of bridges: zmq+tcp://host:port/bus?key=FILE&server_key=FILE&insecure=1&connect_timeout=SECONDS

Keys that the address does not name come from the environment: SLIPRING_KEY and SLIPRING_SERVER_KEY name the files.
"""

from __future__ import annotations

import ipaddress
import os
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode, urlsplit

from slipring.errors import BadArgument

SCHEME = "zmq+tcp"
CONNECT_TIMEOUT_S = 5.0
_OPTIONS = ("key", "server_key", "insecure", "connect_timeout")


@dataclass(frozen=True)
class Address:
    """The host and port of a bridge, the bus it exports, and the keys for it."""

    host: str
    port: int
    bus: str
    key: str | None = None
    server_key: str | None = None
    insecure: bool = False
    connect_timeout_s: float = CONNECT_TIMEOUT_S

    @property
    def endpoint(self) -> str:
        return f"tcp://{self.host}:{self.port}"

    def __str__(self) -> str:
        return f"{SCHEME}://{self.host}:{self.port}/{self.bus}"

    def with_options(self) -> str:
        """Return a text that another process parses to this address. It names the files of keys, absolute."""
        options = {"connect_timeout": repr(self.connect_timeout_s)}
        if self.key and self.server_key:
            options |= {"key": _absolute(self.key), "server_key": _absolute(self.server_key)}
        if self.insecure:
            options["insecure"] = "1"
        return f"{self}?{urlencode(options)}"


def _absolute(path: str) -> str:
    return os.path.abspath(os.path.expanduser(path))


def _bad(text: str, why: str) -> BadArgument:
    of_server = text.startswith("tcp:")
    whose, example = ("server", "tcp://HOST:5555") if of_server else ("bridge", f"{SCHEME}://HOST:5555/BUS")
    message = f"{text!r} is not a valid address of a {whose}: {why}; write {example}"
    return BadArgument(message, argument="address" if of_server else "name")


def split_endpoint(text: str) -> tuple[str, int, str, str]:
    """Return host, port, path and query of an address, either a server's or a client's."""
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise _bad(text, str(error)) from None
    if parts.scheme not in (SCHEME, "tcp"):
        raise _bad(text, f"it must begin with {SCHEME}://")
    if not host or parts.username is not None or parts.fragment:
        raise _bad(text, "it must name a host, without a user or fragment")
    if port is None:
        raise _bad(text, "the port is missing")
    return f"[{host}]" if ":" in host else host, port, parts.path.strip("/"), parts.query


def parse(text: str) -> Address:
    """Return a client's address, checked: without keys it names this host, or has insecure=1."""
    host, port, bus, query = split_endpoint(text)
    options = dict(parse_qsl(query, keep_blank_values=True))
    unknown = sorted(set(options) - set(_OPTIONS))
    if unknown:
        raise _bad(text, f"unknown option {unknown[0]!r}, allowed are {', '.join(_OPTIONS)}")
    if not bus:
        raise _bad(text, "the bus is missing")
    address = Address(
        host,
        port,
        bus,
        options.get("key") or os.environ.get("SLIPRING_KEY"),
        options.get("server_key") or os.environ.get("SLIPRING_SERVER_KEY"),
        options.get("insecure", "0") == "1",
        _seconds(text, options.get("connect_timeout", str(CONNECT_TIMEOUT_S))),
    )
    if bool(address.key) != bool(address.server_key):
        missing = "server_key" if address.key else "key"
        raise BadArgument(f"{missing}= is missing: keys come as key= and server_key=", argument=missing)
    check_insecure(address.host, bool(address.key), address.insecure)
    return address


def _seconds(text: str, value: str) -> float:
    try:
        seconds = float(value)
    except ValueError:
        raise _bad(text, f"connect_timeout={value} is not a number of seconds") from None
    if not 0 < seconds < 1e6:
        raise _bad(text, f"connect_timeout={value} is not between 0 and 1e6 seconds")
    return seconds


def is_loopback(host: str) -> bool:
    """Whether the host is surely this one. Names other than localhost may resolve to any host."""
    if host == "localhost":
        return True
    try:
        found = ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    inside = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return (inside or found).is_loopback


def check_insecure(host: str, has_keys: bool, insecure: bool) -> None:
    if has_keys or insecure or is_loopback(host):
        return
    raise BadArgument(
        f"{host} is on a network and there are no keys: every host there could read and write; "
        "give key files (`slipring bridge keys` makes them), or insecure to accept that",
        argument="insecure",
    )
