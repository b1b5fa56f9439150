# SPDX-License-Identifier: Apache-2.0
"""A lake shared by hosts: each resumes and ends only its own sessions, even if their buses have the same name."""

import subprocess
import sys

import pytest

import slipring
from slipring.pipelines.lake import Lake, OtherHostsRecording
from slipring.pipelines.record import hosts
from slipring.pipelines.record.begin import Subscription, description, last_unfinished
from slipring.pipelines.record.finish import release

PROGRAM = """
import sys
import slipring
from slipring.pipelines.record import begin
from slipring.pipelines.record.finish import release
from slipring.pipelines.lake import Lake, OtherHostsRecording
name, root, path = sys.argv[1:]
with slipring.Bus(name, root=root) as bus:
    bus.create("t")
    found = begin.last_unfinished(Lake.open(path), bus)
print(found.id if found else None)
try:
    print(release(path))
except OtherHostsRecording as error:
    print(error)
"""


@pytest.fixture
def open_session(lake, bus):
    bus.create("t", delivery="reliable")
    return lake.begin(description(Subscription.of("t"), bus))


def elsewhere(before, bus, lake):
    """Return the output of a process in namespaces of its own, on the same kernel, after the command `before`."""
    script = f'{before} && exec "$@"'
    command = ["unshare", "--mount", "--uts", "sh", "-c", script, "sh"]
    command += [sys.executable, "-P", "-c", PROGRAM, bus.name, bus.root, str(lake.path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_session_of_this_host_is_resumed_and_released(lake, bus, open_session):
    assert last_unfinished(lake, bus).id == open_session
    assert release(lake.path) == [open_session]


def test_another_container_does_not_take_over_or_end_a_session_of_the_same_bus_name(lake, bus, open_session):
    said = elsewhere(f"mount -t tmpfs slipring-test {bus.root}", bus, lake)
    assert said[0] == "None" and "was begun on host" in said[1]
    assert not lake.refresh().sessions[open_session].finished


def test_a_container_with_another_name_and_the_same_memory_resumes(lake, bus, open_session):
    assert elsewhere("hostname another", bus, lake) == [open_session, f"['{open_session}']"]


@pytest.mark.parametrize(
    ("change", "own", "released"),
    [
        ({}, True, True),
        ({"name": "another"}, True, True),
        ({"directory": [0, 0]}, False, False),
        ({"directory": []}, True, True),
        ({"boot": "another"}, True, True),
        ({"boot": "another", "directory": [0, 0]}, True, True),
        ({"boot": "another", "name": "another"}, False, False),
        ({"boot": "another", "machine": "another"}, False, False),
        ({"boot": ""}, True, True),
        ({"boot": "", "directory": [0, 0]}, False, False),
    ],
)
def test_a_session_is_of_this_host_by_its_memory_or_after_a_reboot_by_its_machine(
    lake, bus, change, own, released
):
    bus.create("t")
    about = description(Subscription.of("t"), bus)
    about["host"] |= change
    session = lake.state.sessions[lake.begin(about)]
    assert (hosts.is_own(session, bus), hosts.may_release(session, bus)) == (own, released)


def test_a_session_of_a_bus_directory_that_was_made_again_is_released_but_not_resumed(
    lake, bus, open_session
):
    about = description(Subscription.of("t"), bus)
    about["host"]["directory"][1] += 1
    session = lake.begin(about)
    assert last_unfinished(lake, bus).id == open_session
    assert session in release(lake.path)


@pytest.mark.parametrize("host", [None, "x", 7, [], {}, {"directory": 7}, {"directory": [[]], "boot": {}}])
def test_the_host_of_a_session_may_be_described_by_anything(lake, bus, host):
    bus.create("t")
    about = description(Subscription.of("t"), bus) | {"host": host}
    session = lake.begin(about)
    assert hosts.is_own(lake.state.sessions[session], bus) in (True, False)
    assert isinstance(hosts.name_of(lake.state.sessions[session]), str)


def test_release_ends_sessions_of_this_host_and_leaves_others_alone(lake, bus, open_session):
    about = description(Subscription.of("t"), bus)
    about["host"] |= {"boot": "another", "name": "another"}
    other = lake.begin(about)
    assert release(lake.path) == [open_session]
    assert not Lake.open(lake.path).state.sessions[other].finished
    with pytest.raises(OtherHostsRecording, match=f"recording {other} .* was begun on host another"):
        release(lake.path)
    assert slipring.SlipringError in OtherHostsRecording.__mro__
