# SPDX-License-Identifier: Apache-2.0
"""Fuzz target: a hostile recording.

The input replaces a log entry, a snapshot, the marker, the description of a topic or a Parquet file. Opening, reading,
verifying and clearing succeed or raise an error of the package. No file outside of the lake is touched.

Input: number of the file, 1 to seal it again with a correct checksum (else 0), bytes of the file.
"""

import hashlib
import json
import random
import shutil
import tempfile
import zlib
from pathlib import Path
from typing import TypedDict

from fuzz.mutation import Target, mutated
from slipring._bus.schema.declare import declare
from slipring.errors import SlipringError
from slipring.pipelines.lake import (
    Lake,
    compact,
    file_facts,
    generations,
    log,
    marker,
    model,
    validation,
    verify,
)
from slipring.pipelines.lake.topics import schema_files, selection, topic_settings

SEALED = {"entry": "_log/00000001.json", "end": "_log/00000003.json", "state": "_log/00000004.snapshot"}
PLAIN = {"mark": "_slipring.json", "topic": "_topics/a.json"}


class Imu(TypedDict):
    t: float
    acc: tuple[float, float, float]
    text: str | None


KINDS = [*SEALED, *PLAIN, "parquet", "schema"]
JUNK = [
    None,
    True,
    -1,
    2**63,
    2**70,
    1.5,
    "",
    "../../outside",
    "/etc/passwd",
    "messages/../../outside",
    "\0",
    [],
    {},
    [[]],
]
folder: Path | None = None


def _lake() -> Path:
    """Return a valid recording, made once. Each input gets a copy."""
    global folder
    if folder is None or not folder.exists():
        from lake import filling

        folder = Path(tempfile.mkdtemp(prefix="slipring-fuzz-recording-", dir="/dev/shm"))
        lake = Lake.create(folder / "valid")
        session = lake.begin({"subscribe": "a"})
        for batch in range(2):
            filling.record(lake, session, batch, ("a", filling.messages("a", batch * 5, batch * 5 + 5)))
        lake.end(session)
        schema = declare(Imu, "json")
        _set_schema(lake.path, schema.to_bytes())
        lake.log.refresh()
        (lake.path / SEALED["state"]).write_bytes(log.sealed("state", lake.state.to_json()))
    return folder / "valid"


def clean_up() -> None:
    """Remove the valid recording."""
    global folder
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)
        folder = None


def _set_schema(lake: Path, data: bytes) -> None:
    """Make these bytes the schema of the topic, under their hash, as an attacker would."""
    name = hashlib.sha256(data).hexdigest()
    shutil.rmtree(lake / "_schemas", ignore_errors=True)
    (lake / "_schemas").mkdir()
    (lake / "_schemas" / f"{name}.json").write_bytes(data)
    settings = {"topic": "a", "generations": {"00000000000000ff": {"schema": name}}}
    (lake / "_topics/a.json").write_text(json.dumps(settings))


def _path_of(kind: str, lake: Path) -> Path:
    if kind == "schema":
        return next((lake / "_schemas").iterdir())
    if kind == "parquet":
        return sorted(lake.rglob("*.parquet"))[0]
    return lake / (SEALED | PLAIN)[kind]


def seeds() -> list[bytes]:
    lake = _lake()
    return [bytes([number, 1]) + _path_of(kind, lake).read_bytes() for number, kind in enumerate(KINDS)]


def _sealed_anew(data: bytes) -> bytes:
    """Return the entry with a correct checksum, as an attacker would write it."""
    try:
        outer = json.loads(data)
        for name, value in list(outer.items()):
            if name != "crc32":
                outer["crc32"] = f"{zlib.crc32(log.canonical(value).encode()):08x}"
        return json.dumps(outer).encode()
    except (ValueError, AttributeError, TypeError, RecursionError):
        return data


def mutate(dice: random.Random, data: bytes) -> bytes:
    """Mutate bytes, or replace values of the JSON."""
    head, body = data[:2], data[2:]
    if dice.random() < 0.3 or KINDS[head[0] % len(KINDS)] == "parquet":
        return head + mutated(dice, body)
    try:
        value = json.loads(body)
        for _ in range(dice.randint(1, 3)):
            value = _twisted(dice, value)
        return head + json.dumps(value).encode()
    except (ValueError, RecursionError):
        return head + mutated(dice, body)


def _twisted(dice: random.Random, value):
    """Replace, remove or double one value inside."""
    if isinstance(value, dict) and value and dice.random() < 0.9:
        name = dice.choice(list(value))
        if dice.random() < 0.1:
            return {other: inside for other, inside in value.items() if other != name}
        return value | {name: _twisted(dice, value[name])}
    if isinstance(value, list) and value and dice.random() < 0.9:
        place = dice.randrange(len(value))
        twisted = _twisted(dice, value[place])
        return [*value[:place], twisted, *value[place + dice.randrange(2) :]]
    if isinstance(value, int) and dice.random() < 0.3:
        return value + dice.randint(-3, 3)
    return dice.choice(JUNK)


def use(data: bytes) -> None:
    kind = KINDS[data[0] % len(KINDS)] if data else "entry"
    valid = _lake()
    place = valid.parent / "copy"
    outside = valid.parent / "outside"
    outside.write_text("mine")
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(valid, place)
    body = data[2:]
    if kind in SEALED and data[1:2] == b"\1":
        body = _sealed_anew(body)
    if kind == "schema":
        _set_schema(place, body)
    else:
        _path_of(kind, place).write_bytes(body)
    for look in (_open, _verify):
        try:
            look(place)
        except SlipringError as error:
            assert str(error)
    assert outside.read_text() == "mine", "a file outside of the lake was touched"
    assert sorted(path.name for path in valid.parent.iterdir()) == ["copy", "outside", "valid"]


def _open(place: Path) -> None:
    lake = Lake.open(place)
    for one in generations.contents(lake):
        one.to_json()
    for file in lake.files():
        lake.where(file)
        with file_facts.FileFacts(lake.path / file.path) as found:
            found.runs(), found.times(), found.types()
    topic_settings.load(lake, "a")
    compact.clear(lake, 0)
    lake.schemas("a")


def _verify(place: Path) -> None:
    verify.verify(place)


MODULES = tuple(
    module.__name__
    for module in (
        *(validation, generations, file_facts, log, marker, model, topic_settings, verify),
        *(schema_files, selection),
    )
)
TARGET = Target("recording", MODULES, use, seeds, mutate, clean_up)
