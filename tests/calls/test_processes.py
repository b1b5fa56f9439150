# SPDX-License-Identifier: Apache-2.0
"""Unrelated processes: each answer reaches its own call; a killed server is noticed (promises 23, 24)."""

import signal

import pytest

import slipring
from support.waiting import eventually

SERVER = """
    import threading
    server = bus.server("calc", workers=workers)
    server.method(lambda value: value, name="echo")
    server.method(lambda: threading.Event().wait(), name="hang")
    server.method(lambda size: bytes(size), name="big")

    @server.method
    def count(n, size):
        for _ in range(n):
            yield bytes(size)

    server.start()
    say("ready")
    hear()
    server.close()
"""


def start_server(processes, workers=1):
    server = processes.start(SERVER, workers=workers)
    server.expect("ready")
    return server


def stop(server):
    server.say("close")
    server.join()


@pytest.mark.parametrize("workers", [1, 3])
def test_echo_with_many_processes_and_threads_each_answer_reaches_its_own_call(processes, workers):
    server = start_server(processes, workers)
    clients = [
        processes.start(
            """
            import threading
            client = bus.client("calc", timeout=60)
            wrong = []

            def talk(thread):
                for number in range(200):
                    asked = [me, thread, number, "x" * (number % 50)]
                    if client.call("echo", asked) != asked:
                        wrong.append(asked)

            threads = [threading.Thread(target=talk, args=[n]) for n in range(3)]
            for thread in threads: thread.start()
            for thread in threads: thread.join()
            say(wrong, client.stats()["late"])
            client.close()
            """,
            me=number,
        )
        for number in range(4)
    ]
    for client in clients:
        assert client.hear() == ([], 0)
        client.join()
    stop(server)


def test_a_killed_server_fails_its_callers_at_once(bus, processes, background):
    server = start_server(processes)
    with bus.client("calc", timeout=None) as client:
        callers = [background(client.call, "hang") for _ in range(4)]
        for caller in callers:
            caller.wait_until_asleep()
        server.kill()
        for caller in callers:
            with pytest.raises(slipring.PeerGone):
                caller.result()
        with pytest.raises(slipring.PeerGone):
            client.call("echo", 1)


def test_a_stopped_server_is_not_a_dead_one(bus, processes, background):
    server = start_server(processes)
    with bus.client("calc", timeout=None) as client:
        assert client.call("echo", 1) == 1
        server.stop()
        with pytest.raises(slipring.Timeout):
            client.within(0.1).call("echo", 2)
        waiting = background(client.call, "echo", 3)
        waiting.wait_until_asleep()
        server.resume()
        assert waiting.result() == 3
    stop(server)


def test_the_next_server_takes_over_from_a_killed_one_and_clients_follow(bus, processes):
    with bus.client("calc", timeout=60) as client:
        for number in range(4):
            server = start_server(processes)
            assert client.call("echo", number) == number
            server.kill()
            with pytest.raises(slipring.PeerGone):
                client.call("echo", number)
        last = start_server(processes)
        assert client.call("echo", "still") == "still"
        stop(last)


def test_a_killed_client_leaves_no_topic_and_cancels_its_calls(bus, processes):
    with bus.server("calc", workers=2) as server:
        seen = []

        @server.method
        def wait():
            call = slipring.current_call()
            eventually(lambda: call.cancelled, "being cancelled")
            seen.append(call.client)

        server.method(lambda: 1, name="one")
        server.start()
        victim = processes.start(
            """
            client = bus.client("calc", timeout=None)
            client.call("one")
            say(client.stats()["client"])
            client.call("wait")
            """
        )
        name = victim.hear()
        eventually(lambda: server.stats()["running"] == 1, "the method running")
        victim.kill()
        eventually(lambda: seen == [name], "the method noticing")
        eventually(lambda: bus.topics() == ["calc.calls", "calc.server"], "the topic going")


def test_a_stopped_client_that_never_reads_costs_bounded_memory_and_delays_no_other(bus, processes):
    server = start_server(processes, workers=2)
    lazy = processes.start(
        """
        client = bus.client("calc", timeout=60, capacity="64KiB")
        client.call("echo", 0)
        for number in range(3000):  # asked for, never waited for
            call = client._begin("big", (2000,), {}, None, 0)
        streams = [client.stream("count", 1000, 3000) for _ in range(40)]
        big = client._begin("big", (30_000_000,), {}, None, 0)
        say("asked")
        hear()
        """
    )
    lazy.expect("asked")
    lazy.stop()
    before = memory_kib(server.pid)
    with bus.client("calc", timeout=60) as client:
        for number in range(500):
            assert client.call("echo", number) == number
        assert list(client.stream("count", 10, 10)) == [bytes(10)] * 10
    assert memory_kib(server.pid) - before < 40_000
    lazy.signal(signal.SIGKILL)
    lazy.join(code=None)
    eventually(lambda: bus.topics() == ["calc.calls", "calc.server"], "the topic going")
    stop(server)


def memory_kib(pid: int) -> int:
    with open(f"/proc/{pid}/status") as status:
        lines = dict(line.split(":", 1) for line in status)
    return int(lines["RssAnon"].split()[0])


def test_leftovers_of_killed_clients_are_found_by_the_doctor_the_next_client_and_the_next_server(
    bus, processes
):
    def kill_one():
        server = start_server(processes)
        client = processes.start('client = bus.client("calc"); say(client.call("echo", 1)); hear()')
        client.expect(1)
        server.kill()
        client.kill()

    def replies():
        return [topic for topic in bus.topics() if ".reply." in topic]

    kill_one()
    (left,) = replies()
    findings = [finding for finding in bus.doctor() if finding["topic"] == left]
    assert ["client" in finding["problem"] for finding in findings] == [True]
    bus.doctor(repair=True)
    assert replies() == []
    assert not [finding for finding in bus.doctor() if ".reply." in finding["topic"]]

    kill_one()
    assert len(replies()) == 1
    server = start_server(processes)
    assert replies() == []
    server.kill()

    kill_one()
    bus.server("other").close()
    assert len(replies()) == 1  # somebody else's
    with bus.server("calc") as server:
        assert replies() == []


def test_a_living_client_is_not_a_leftover(bus, processes):
    server = start_server(processes)
    client = processes.start(
        'client = bus.client("calc"); say(client.call("echo", 1)); hear(); say(client.call("echo", 2))'
    )
    client.expect(1)
    client.stop()
    bus.doctor(repair=True)
    with bus.client("calc") as other:
        other.call("echo", 1)
    client.resume()
    client.say("go")
    client.expect(2)
    client.join()
    stop(server)


def test_a_forked_child_cannot_use_its_parents_client_or_server_and_does_not_disturb_them(bus, processes):
    parent = processes.start(
        """
        import os
        server = bus.server("calc")
        server.method(lambda value: value, name="echo")
        server.start()
        client = bus.client("calc", timeout=60)
        client.call("echo", 1)
        child = os.fork()
        if child == 0:
            try:
                client.call("echo", 2)
            except slipring.ForkedHandle:
                os._exit(7)
            os._exit(1)
        say(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        say(client.call("echo", 3))
        client.close()
        server.close()
        """
    )
    parent.expect(7)
    parent.expect(3)
    parent.join()
    assert bus.topics() == []


def test_interrupting_a_call_ends_it_and_cancels_it_at_the_server(bus, processes):
    server = start_server(processes)
    client = processes.start(
        """
        client = bus.client("calc", timeout=None)
        client.call("echo", 1)
        say("ready")
        try:
            client.call("hang")
        except KeyboardInterrupt:
            say("interrupted")
        client.close()
        """
    )
    client.expect("ready")
    client.wait_until_asleep()
    client.signal(signal.SIGINT)
    client.expect("interrupted")
    client.join()
    server.kill()


def test_run_is_ended_by_an_interrupt_and_leaves_nothing(bus, processes):
    server = processes.start(
        """
        server = bus.server("calc")
        server.method(lambda value: value, name="echo")
        server.run()
        say("ended")
        """
    )
    with bus.client("calc", timeout=60) as client:
        assert client.wait_for_server(60)
        assert client.call("echo", 1) == 1
        server.signal(signal.SIGINT)
        server.expect("ended")
        server.join()
    assert bus.topics() == []


def test_idle_servers_and_clients_use_no_processor_time(processes):
    server = start_server(processes)
    client = processes.start('client = bus.client("calc"); say(client.call("echo", 1)); hear()')
    client.expect(1)
    idle = processes.start("import time; time.sleep(1.5); say(1)")
    before = [server.cpu_seconds, client.cpu_seconds]
    idle.expect(1)
    used = [server.cpu_seconds - before[0], client.cpu_seconds - before[1]]
    assert max(used) <= 0.1
    client.kill()
    stop(server)


def test_a_client_that_does_not_read_keeps_no_thread_busy(processes):
    server = start_server(processes)
    lazy = processes.start(
        """
        client = bus.client("calc", timeout=60, capacity="64KiB")
        client.call("echo", 0)
        streams = [client.stream("count", 1000, 4000) for _ in range(30)]
        big = client._begin("big", (10_000_000,), {}, None, 0)
        say("asked")
        hear()
        """
    )
    lazy.expect("asked")
    settled = processes.start("import time; time.sleep(0.5); say(1); time.sleep(1.5); say(2)")
    settled.expect(1)
    before = server.cpu_seconds
    settled.expect(2)
    assert server.cpu_seconds - before <= 0.2
    lazy.kill()
    stop(server)
