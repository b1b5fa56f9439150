# SPDX-License-Identifier: Apache-2.0
"""A method that fails: the server's log has the traceback, the caller gets it where the server allows."""

import logging
import pickle
import subprocess
import sys
import traceback

import pytest

import slipring

ASYNC = ["plain", "parts", "later", "later_parts"]


def offer_failing(server):
    def deeper(text):
        raise KeyError(text)

    @server.method
    def plain(text):
        deeper(text)

    @server.method
    def parts(text):
        yield 1
        deeper(text)

    @server.method
    async def later(text):
        deeper(text)

    @server.method
    async def later_parts(text):
        yield 1
        deeper(text)

    server.method(lambda: object(), name="no_value")


def fail(client, method):
    with pytest.raises(slipring.RemoteError) as failed:
        list(client.stream(method, "why")) if "parts" in method else client.call(method, "why")
    return failed.value


@pytest.mark.parametrize("method", ASYNC)
def test_the_server_logs_the_traceback_of_a_failed_method(bus, caplog, method):
    with bus.server("calc") as server, bus.client("calc", timeout=20) as client:
        offer_failing(server)
        server.start()
        error = fail(client, method)
    assert (error.type, error.message, error.traceback) == ("KeyError", "'why'", "")
    (record,) = [record for record in caplog.records if record.name == "slipring.calls"]
    assert record.levelno == logging.ERROR
    assert record.getMessage().startswith(f"method '{method}' of service 'calc' raised KeyError")
    shown = "".join(traceback.format_exception(*record.exc_info))
    assert "in deeper" in shown
    assert "KeyError: 'why'" in shown
    assert "_bus/calls" not in shown


def test_a_value_that_cannot_be_encoded_is_logged_too(bus, caplog):
    with bus.server("calc") as server, bus.client("calc", timeout=20) as client:
        offer_failing(server)
        server.start()
        with pytest.raises(slipring.RemoteError, match="object"):
            client.call("no_value")
    assert [record.name for record in caplog.records] == ["slipring.calls"]


@pytest.mark.parametrize("method", ASYNC)
def test_a_server_that_allows_it_sends_the_traceback(bus, method):
    with bus.server("calc", tracebacks=True) as server, bus.client("calc", timeout=20) as client:
        offer_failing(server)
        server.start()
        error = fail(client, method)
    assert error.traceback.startswith("Traceback (most recent call last):")
    assert "in deeper" in error.traceback
    assert error.traceback.endswith("KeyError: 'why'\n")
    assert error.traceback in "".join(traceback.format_exception(error))  # as a note
    assert str(error) == "KeyError: 'why'"
    again = pickle.loads(pickle.dumps(error))
    assert (again.traceback, again.type, again.__notes__) == (error.traceback, error.type, error.__notes__)


def test_a_long_traceback_is_sent_from_its_end(bus):
    with (
        bus.server("calc", tracebacks=True) as server,
        bus.client("calc", timeout=20, capacity="64KiB") as client,
    ):

        @server.method
        def long():
            raise ValueError("ä" * 100_000)

        server.start()
        with pytest.raises(slipring.RemoteError) as failed:
            client.call("long")
    assert len(failed.value.message.encode()) == 4096
    assert 8000 < len(failed.value.traceback.encode()) <= 8192


SILENT = """
import sys, slipring
with slipring.Bus("test", root=sys.argv[1]) as bus, bus.server("calc") as server:
    server.method(lambda: 1 / 0, name="fail")
    server.start()
    with bus.client("calc", timeout=60) as client:
        try:
            client.call("fail")
        except slipring.RemoteError as error:
            print(error)
"""


def test_nothing_is_printed_where_logging_is_not_configured(bus_root):
    done = subprocess.run(
        [sys.executable, "-c", SILENT, bus_root], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("ZeroDivisionError: division by zero\n", "")


def test_arguments_that_do_not_fit_are_not_a_failure_of_the_method(bus, caplog):
    with bus.server("calc", tracebacks=True) as server, bus.client("calc", timeout=20) as client:
        offer_failing(server)
        server.start()
        with pytest.raises(slipring.BadArguments) as refused:
            client.call("plain")
    assert refused.value.traceback == ""
    assert caplog.records == []
