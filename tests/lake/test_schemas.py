# SPDX-License-Identifier: Apache-2.0
"""The schemas of recorded topics: kept by generation, whole or not at all, and not trusted when they are read."""

import hashlib
import json
import os
from dataclasses import dataclass

import pytest

from lake import filling
from slipring._bus.schema.declare import declare
from slipring.errors import Corrupt
from slipring.pipelines.lake import DamagedLake, Lake
from slipring.pipelines.lake.compact import compact
from slipring.pipelines.lake.topics import topic_settings
from slipring.pipelines.lake.verify import verify


@dataclass
class Imu:
    t: float
    acc: tuple[float, float, float]


@dataclass
class Newer:
    t: float
    label: str = ""


def signed(generation):
    return generation - (1 << 64) if generation >> 63 else generation


def generation_of(bus, topic):
    return bus.stats(topic)["generation"]


def put(lake, bus, topic, schema):
    """Create a topic with this schema, note it, and record two messages of its generation."""
    bus.create(topic, schema=schema)
    topic_settings.note(lake, bus, topic)
    generation = generation_of(bus, topic)
    session = lake.begin({"subscribe": topic})
    filling.record(lake, session, 0, (topic, filling.messages(topic, 0, 2, signed(generation))))
    lake.end(session)
    return f"{generation:016x}"


def file_of(lake, topic):
    (settings,) = topic_settings.load(lake, topic)["generations"].values()
    return lake.path / "_schemas" / f"{settings['schema']}.json"


def problems(lake):
    return [(problem.where, problem.what) for problem in verify(lake.path).problems]


def test_the_schema_of_each_generation_is_kept_as_its_bytes(lake, bus):
    first = put(lake, bus, "imu", Imu)
    bus.remove("imu")
    second = put(lake, bus, "imu", Newer)
    bus.remove("imu")
    third = put(lake, bus, "imu", None)
    found = Lake.open(lake.path).schemas("imu")
    assert found == {first: declare(Imu), second: declare(Newer)} and third not in found
    kept = topic_settings.load(lake, "imu")["generations"][first]["schema"]
    data = (lake.path / "_schemas" / f"{kept}.json").read_bytes()
    assert data == declare(Imu).to_bytes() and kept == hashlib.sha256(data).hexdigest()
    assert problems(lake) == []


def test_topics_of_one_schema_share_its_file(lake, bus):
    put(lake, bus, "left", Imu)
    put(lake, bus, "right", Imu)
    assert len(os.listdir(lake.path / "_schemas")) == 1


def test_a_lake_of_untyped_topics_has_no_schemas(lake, bus):
    put(lake, bus, "plain", None)
    assert lake.schemas("plain") == {} and lake.schemas("unknown") == {}
    assert not (lake.path / "_schemas").exists()


def test_a_compaction_keeps_the_schemas(lake, bus):
    generation = put(lake, bus, "imu", Imu)
    session = lake.begin({"subscribe": "imu"})
    filling.record(lake, session, 0, ("imu", filling.messages("imu", 2, 4, signed(int(generation, 16)))))
    lake.end(session)
    assert compact(lake, keep_s=0).merged == 2
    assert lake.schemas("imu") == {generation: declare(Imu)}
    assert problems(lake) == []


HOSTILE = {
    "cut": (lambda data: data[:-9], "does not have its hash"),
    "of another schema": (lambda _: declare(Newer).to_bytes(), "does not have its hash"),
    "empty": (lambda _: b"", "does not have its hash"),
    "too large": (lambda _: b" " * (1 << 21), "at most"),
}


@pytest.mark.parametrize("how", HOSTILE)
def test_a_damaged_schema_is_corrupt_and_named_and_the_bodies_stay_readable(lake, bus, how):
    put(lake, bus, "imu", Imu)
    path = file_of(lake, "imu")
    change, why = HOSTILE[how]
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(Corrupt, match=why) as caught:
        lake.schemas("imu")
    assert str(path) in str(caught.value)
    ((where, what),) = problems(lake)
    assert where == f"_schemas/{path.name}" and why in what and "'imu'" in what
    assert len(filling.rows(lake, "imu")) == 2


def test_bytes_with_a_correct_hash_of_something_else_are_corrupt(lake, bus):
    put(lake, bus, "imu", Imu)
    file_of(lake, "imu").unlink()
    data = b'{"encoding":"msgpack"}'
    (lake.path / "_schemas" / f"{hashlib.sha256(data).hexdigest()}.json").write_bytes(data)
    path = lake.path / "_topics" / "imu.json"
    known = json.loads(path.read_text())
    for settings in known["generations"].values():
        settings["schema"] = hashlib.sha256(data).hexdigest()
    path.write_text(json.dumps(known))
    with pytest.raises(Corrupt, match=hashlib.sha256(data).hexdigest()):
        lake.schemas("imu")
    assert "are not valid" in problems(lake)[0][1]


def test_a_missing_schema_is_named(lake, bus):
    put(lake, bus, "imu", Imu)
    path = file_of(lake, "imu")
    path.unlink()
    with pytest.raises(DamagedLake, match="is missing") as caught:
        lake.schemas("imu")
    assert str(path) in str(caught.value)
    assert [where for where, _ in problems(lake)] == [f"_schemas/{path.name}"]


@pytest.mark.parametrize("value", ["../../outside", "0" * 63, 5, "/etc/passwd"])
def test_a_schema_named_by_anything_but_a_hash_is_damage(lake, bus, value):
    put(lake, bus, "imu", Imu)
    path = lake.path / "_topics" / "imu.json"
    known = json.loads(path.read_text())
    for settings in known["generations"].values():
        settings["schema"] = value
    path.write_text(json.dumps(known))
    with pytest.raises(DamagedLake, match=r"imu\.json"):
        lake.schemas("imu")
    assert [where for where, _ in problems(lake)] == ["_topics/imu.json"]


def test_no_schema_is_written_through_a_link_that_leads_out_of_the_lake(lake, bus, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (lake.path / "_schemas").symlink_to(elsewhere)
    bus.create("imu", schema=Imu)
    with pytest.raises(DamagedLake, match="leads out of the lake"):
        topic_settings.note(lake, bus, "imu")
    assert list(elsewhere.iterdir()) == []
