# SPDX-License-Identifier: Apache-2.0
"""Programs in C, Java and Python that use a topic, with the same command line.

build(directory)                          compiles c/ and java/; returns the commands by language
Peers(root, commands).publish(…)          starts a publisher: it prints 'ready' and sends after a line from the test
                     .subscribe(…)        starts a subscriber: it prints ('ready', position)
                     .schema(…)           starts a program that prints ('schema', bytes in hex or None)
                     .decode(…)           starts a program that prints the fields of messages as dicts
                     .client(…)           starts a client of calls: .ask(line) returns the result of a call
message(number, largest)                  (type, body) of a publisher's message
Account                                   the checksum of messages, as the programs compute it
"""

import contextlib
import os
import subprocess
import sys
import zlib
from pathlib import Path

from support.processes import CHILD, Process

HERE = Path(__file__).parent
STARTS_FAST = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-Xmx64m"]
FOREIGN_FUNCTIONS = ["--add-modules", "jdk.incubator.foreign", "--enable-native-access=ALL-UNNAMED"]
USAGE, CORRUPT, BUSY, GONE, FULL, ABSENT = 2, 3, 4, 5, 6, 7  # exit codes, as in c/shared.h

PYTHON_PEER = """
from foreign.peers import Account, message
if role == "publish":
    sender, count, largest, every = settings
    pub = bus.publisher("t", sender=sender)
    say("ready")
    hear()
    for number in range(int(count)):
        type, body = message(number, int(largest))
        seq = pub.send(body, type=type, timeout=60)
        if number % int(every) == 0 or number + 1 == int(count):
            say("sent", number + 1, seq)
    pub.close()
else:
    kind, start, how = settings
    sub = bus.subscriber("t", lossy=kind == "lossy", start=start)
    account = Account()
    say("ready", sub.position)
    while not account.ended:
        for msg in sub.recv_many(256, timeout=60):
            account.add(msg)
    say("end", account.received, sub.lost, sub.position, account.sum)
    sub.close()
"""


def run(*command) -> None:
    made = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    assert made.returncode == 0, made.stderr


def build(directory: Path) -> dict[str, list[str]]:
    peer = directory / "peer"
    run("gcc", "-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", *sorted(HERE.glob("c/*.c")), "-o", peer)
    sources = sorted(HERE.glob("java/*.java"))
    run("javac", *FOREIGN_FUNCTIONS[:2], "-Xlint:all", "-Xlint:-serial", "-d", directory, *sources)
    java = ["java", *STARTS_FAST, "-cp", str(directory)]
    return {
        "c": [str(peer)],
        "java": [*java, "Peer"],
        "java+futex": [java[0], *FOREIGN_FUNCTIONS, *java[1:], "Peer"],
    }


def message(number: int, largest: int) -> tuple[str, bytes]:
    body = b"%d " % number
    size = number * 7919 % (largest + 1)
    return f"type-{number % 3}", body + bytes((number + k) & 0xFF for k in range(len(body), size))


class Account:
    def __init__(self) -> None:
        self.received, self.sum, self.ended = 0, 0, False

    def add(self, msg) -> None:
        numbers = msg.seq.to_bytes(8, "little") + msg.time_ns.to_bytes(8, "little")
        whole = numbers + msg.type.encode() + msg.sender.encode() + msg.body
        self.sum = zlib.crc32(whole, self.sum)
        self.received += 1
        self.ended = msg.type == "end"


class Peer(Process):
    def ended_within(self, seconds: float) -> bool:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._popen.wait(seconds)
        return not self.alive

    def ask(self, line: str) -> tuple:
        self.say(line)
        return self.hear()

    def hear_sent(self, count: int) -> int:
        """Wait until the program has sent so many messages. Return the sequence of the last."""
        while True:
            _, sent, seq = self.hear()
            if sent >= count:
                return seq


class Peers:
    def __init__(self, root: Path, commands: dict[str, list[str]]) -> None:
        self._root, self._commands = root, commands
        self._started: list[Peer] = []
        self._clients: list[Peer] = []

    def publish(
        self, language: str, sender: str, count: int, largest: int = 200, every: int = 16, die_at: str = ""
    ) -> Peer:
        return self._start(language, "publish", [sender, str(count), str(largest), str(every)], die_at)

    def subscribe(
        self, language: str, kind: str, start: str = "new", how: str = "sum", die_at: str = ""
    ) -> Peer:
        return self._start(language, "subscribe", [kind, start, how], die_at)

    def schema(self, language: str) -> Peer:
        return self._start(language, "schema", [], "")

    def decode(self, language: str) -> Peer:
        return self._start(language, "decode", [], "")

    def client(self, language: str, service: str) -> Peer:
        """Start a client of a service (java/Caller.java)."""
        command = [*self._commands[language], "call", str(self._root / "test"), service]
        self._started.append(Peer(command, dict(os.environ)))
        self._started[-1].expect("ready")
        self._clients.append(self._started[-1])
        return self._started[-1]

    def _start(self, language: str, role: str, settings: list[str], die_at: str) -> Peer:
        environment = {**os.environ, "PEER_DIE_AT": die_at, "PYTHONPATH": str(HERE.parent)}
        if language == "python":
            variables = {"root": str(self._root), "bus_name": "test", "role": role, "settings": settings}
            command = [sys.executable, "-P", str(CHILD), PYTHON_PEER, repr(variables)]
        else:
            command = [*self._commands[language], role, str(self._root / "test"), "t", *settings]
        self._started.append(Peer(command, environment))
        return self._started[-1]

    def discard(self) -> None:
        for client in self._clients:
            if client.alive:  # it removes its reply topic; other processes remove those of killed clients
                client.say("close")
                client.join()
        for peer in self._started:
            peer.discard()
