# SPDX-License-Identifier: Apache-2.0
"""Promise 14 for calls: what a forked child does with its parent's server is an error, or nothing."""

import pytest

SERVED = """
    import os, sys
    server = bus.server("calc")
    server.method(lambda a, b: a + b, name="add")
    server.start()
    client = bus.client("calc", timeout=60)
    assert client.call("add", 1, 2) == 3
    child = os.fork()
"""


@pytest.mark.parametrize("ending", ["server.close()", "bus.close()", "server.__exit__(None, None, None)"])
def test_a_child_that_closes_its_parents_server_leaves_the_service_alone(processes, ending):
    parent = processes.start(
        SERVED
        + f"""
    if child == 0:
        {ending}
        os._exit(0 if server.closed else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    say(client.call("add", 3, 4), server.closed)
    server.close()
    """
    )
    parent.expect((7, False))
    parent.join()


@pytest.mark.parametrize("use", ["server.start()", "server.method(len)"])
def test_a_child_is_refused_the_server_of_its_parent(processes, use):
    parent = processes.start(
        SERVED
        + f"""
    if child == 0:
        try:
            {use}
        except slipring.ForkedHandle:
            os._exit(7)
        os._exit(1)
    say(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    server.close()
    """
    )
    parent.expect(7)
    parent.join()


def test_a_method_that_runs_has_all_the_grace_it_needs_if_there_is_no_limit(processes):
    server = processes.start(
        """
    import threading
    begun = threading.Event()
    server = bus.server("slow")

    @server.method
    def work():
        begun.set()
        say("begun")
        hear()
        return "done"

    server.start()
    say("ready")
    begun.wait()
    server.close(grace=None)
    say("closed")
    """
    )
    server.expect("ready")
    caller = processes.start("say(bus.client('slow', timeout=60).call('work'))")
    server.expect("begun")
    server.say("go on")
    caller.expect("done")
    server.expect("closed")
    server.join()
    caller.join()
