# SPDX-License-Identifier: Apache-2.0
"""A lake that hosts share: each goes on with its own sessions and ends its own, even if their buses have one name."""

import subprocess
import sys

import pytest

import slipring
from slipring.pipelines.lake import Lake, OtherHostsRecording
from slipring.pipelines.record import finish, hosts
from slipring.pipelines.record import session as record_session
from slipring.pipelines.record.session import Subscription

LOOK = """
import sys
import slipring
from slipring.pipelines.record import finish, session as record_session
from slipring.pipelines.lake import Lake, OtherHostsRecording
name, root, path = sys.argv[1:]
with slipring.Bus(name, root=root) as bus:
    bus.create("t")
    found = record_session.to_follow(Lake.open(path), bus)
print(found.id if found else None)
try:
    print(finish.release(path))
except OtherHostsRecording as error:
    print(error)
"""


@pytest.fixture
def open_session(lake, bus):
    bus.create("t", delivery="reliable")
    return lake.begin(record_session.about(Subscription.of("t"), bus))


def elsewhere(before, bus, lake):
    """What a process says to which `before` was done: in namespaces of its own, on the same kernel."""
    script = f'{before} && exec "$@"'
    command = ["unshare", "--mount", "--uts", "sh", "-c", script, "sh"]
    command += [sys.executable, "-P", "-c", LOOK, bus.name, bus.root, str(lake.path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_the_own_session_is_gone_on_with(lake, bus, open_session):
    assert record_session.to_follow(lake, bus).id == open_session
    assert finish.release(lake.path) == [open_session]


def test_another_container_does_not_take_over_or_end_a_session_of_the_same_bus_name(lake, bus, open_session):
    said = elsewhere(f"mount -t tmpfs slipring-test {bus.root}", bus, lake)
    assert said[0] == "None" and "was begun on host" in said[1]
    assert not lake.refresh().sessions[open_session].finished


def test_a_container_with_another_name_and_the_same_memory_goes_on(lake, bus, open_session):
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
    about = record_session.about(Subscription.of("t"), bus)
    about["host"] |= change
    session = lake.state.sessions[lake.begin(about)]
    assert (hosts.is_own(session, bus), hosts.may_release(session, bus)) == (own, released)


def test_a_bus_directory_that_was_made_again_is_released_when_asked_and_not_gone_on_with(
    lake, bus, open_session
):
    about = record_session.about(Subscription.of("t"), bus)
    about["host"]["directory"][1] += 1
    session = lake.begin(about)
    assert record_session.to_follow(lake, bus).id == open_session
    assert session in finish.release(lake.path)


@pytest.mark.parametrize("host", [None, "x", 7, [], {}, {"directory": 7}, {"directory": [[]], "boot": {}}])
def test_what_a_session_says_of_its_host_may_be_anything(lake, bus, host):
    bus.create("t")
    about = record_session.about(Subscription.of("t"), bus) | {"host": host}
    session = lake.begin(about)
    assert hosts.is_own(lake.state.sessions[session], bus) in (True, False)
    assert isinstance(hosts.name_of(lake.state.sessions[session]), str)


def test_a_session_of_another_host_is_left_alone_and_the_own_one_is_ended(lake, bus, open_session):
    about = record_session.about(Subscription.of("t"), bus)
    about["host"] |= {"boot": "another", "name": "another"}
    other = lake.begin(about)
    assert finish.release(lake.path) == [open_session]
    assert not Lake.open(lake.path).state.sessions[other].finished
    with pytest.raises(OtherHostsRecording, match=f"recording {other} .* was begun on host another"):
        finish.release(lake.path)
    assert slipring.SlipringError in OtherHostsRecording.__mro__
