# SPDX-License-Identifier: Apache-2.0
"""The dispatcher of a server: it receives, admits and runs calls, and replies to them.

    receive    one message of `<service>.calls`. The first message of a client opens its reply topic
    admit      a Call is refused or registered; Cancel and Credit go to their call; anything else is counted and dropped
    assign     a registered call is run by this thread or by a task, or waits for a thread, or is refused beyond a limit
    run        the method, in a worker's thread (worker_threads.py) or a task (async_methods.py)
    reply      the value or the error, in one message, in pieces or as a stream (client_replies.py, server_stream.py)

While no message arrives it checks whether its topics still exist and its clients live, and sends what found no room.
"""

from __future__ import annotations

import contextlib
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from slipring.errors import Closed, SlipringError, TopicExists

from ...logs import log
from .. import cleanup, envelope, protocol
from ..protocol import MAX_TRAIL, Call, Cancel, Credit, Error, Reason
from .client_replies import ClientReplies, Unsent
from .method_call import Method, MethodCall, Refused, Service, answer, invoke, refuse
from .server_stream import ServerStream, Stopped
from .worker_threads import WorkerThreads

if TYPE_CHECKING:
    from ...subscriber import Message, Subscriber
    from ..runtime import Runtime, TopicBus
    from .async_methods import AsyncMethods
    from .presence import Presence

_COUNTERS = ("calls", "errors", "expired", "cancelled", "refused", "malformed", "failures")
_MAX_STREAMS = 64  # of one client
_REOPEN_AFTER_S = 0.002  # after the request topic failed
_CHECK_AFTER = 64  # messages, when there is always one
_UNREAD = 4096  # requests that are answered at the end


class Limits(NamedTuple):
    workers: int  # plain methods that run at once
    backlog: int  # calls that wait for one of these
    tasks: int  # async methods that run at once


class Dispatcher:
    def __init__(
        self,
        bus: TopicBus,
        runtime: Runtime,
        service: Service,
        presence: Presence,
        limits: Limits,
        topic: dict[str, Any],
        lost: Callable[[SlipringError], None],
    ) -> None:
        self._bus, self._runtime, self._service, self._presence = bus, runtime, service, presence
        self._limits, self._topic_settings = limits, topic
        self._lost = lost  # called when clients cannot find the server any more
        self.methods: dict[str, Method] = {}
        self._clients: dict[str, ClientReplies] = {}
        self._counters = dict.fromkeys(_COUNTERS, 0)
        self._bell = runtime.bell()
        self._unsent = Unsent(self._bell, runtime.retries_s)
        self._checked = runtime.clock.monotonic()
        self._turns = 0
        self._ending = False
        self._async_methods: AsyncMethods | None = None
        self._workers: WorkerThreads = (runtime.worker_threads or WorkerThreads)(
            runtime, service.name, limits.workers, self
        )
        self._requests = self._open_requests()

    def start(self) -> None:
        self._workers.start()

    # Receive: one thread at a time, which leads

    def receive(self) -> MethodCall | None:
        """Wait for one message; return a call if this thread is to run it now."""
        try:
            message = self._requests.recv(0)
            if message is None:
                message = self._wait()
        except Closed:
            return None
        except SlipringError as error:
            self._reopen(error)
            return None
        self._turns += 1
        if message is None or self._turns % _CHECK_AFTER == 0:
            self._check()
        return None if message is None else self._accept(message)

    def _wait(self) -> Message | None:
        rings = self._bell.rings()
        if self._workers.has_work:
            return None
        timeout = min(self._unsent.patience, self._runtime.check_every_s)
        self._runtime.await_requests(self._requests, self._bell, rings, timeout, self._needs_check)
        return self._requests.recv(0)

    def ring(self) -> None:
        """End the waiting of the thread that leads."""
        self._bell.ring()

    def has_requests(self) -> bool:
        """Return whether more requests wait."""
        with contextlib.suppress(SlipringError):
            return self._requests._ready()
        return False

    def _accept(self, message: Message) -> MethodCall | None:
        client = self._clients.get(message.sender) or self._meet(message.sender)
        if client is None:
            self._counters["malformed"] += 1
            return None
        try:
            req_id, payload = envelope.decode(message.body)  # type: ignore[arg-type]
        except envelope.Malformed:
            self._counters["malformed"] += 1
            return None
        if type(payload) is Call:
            return self._admit(client, req_id, payload)
        call = client.open.get(req_id)
        if isinstance(payload, Cancel):
            if call is not None:
                self._cancel(call)
        elif isinstance(payload, Credit):
            if call is not None and call.stream is not None and call.stream.grant(payload.messages):
                self._workers.put(call)
        else:
            self._counters["malformed"] += 1
        return None

    def _meet(self, sender: str) -> ClientReplies | None:
        """Return a new client; None if it cannot be answered under this name."""
        if not protocol.CLIENT_ID.fullmatch(sender):
            return None
        try:
            client = ClientReplies(self._bus, self._runtime, self._service.name, sender, self._unsent)
        except SlipringError:
            return None  # it has no reply topic, or not for us
        if not client.lives():
            client.close()
            cleanup.remove_all(self._bus, self._service.name)
            return None
        self._clients[sender] = client
        return client

    # Admit

    def _admit(self, client: ClientReplies, req_id: int, request: Call) -> MethodCall | None:
        """Register a call or refuse it; return it if this thread is to run it now."""
        call = MethodCall(client, req_id, request, self._service)
        # defect call_of_earlier_server_runs: if request.server == 0:
        if request.server != self._service.instance:
            refuse(call, Error(Reason.GONE, "", ""))
        elif call.late:
            self._counters["expired"] += 1
        elif req_id in client.open:
            self._counters["malformed"] += 1
        elif len(call.trail) > MAX_TRAIL:
            refuse(call, Error(Reason.FULL, "", f"calls are nested deeper than {MAX_TRAIL} servers"))
        elif call.window and sum(other.window > 0 for other in client.open.values()) >= _MAX_STREAMS:
            refuse(call, Error(Reason.FULL, "", f"this client has {_MAX_STREAMS} streams open"))
        elif self._ending:
            refuse(call, Error(Reason.GONE, "", ""))
        else:
            client.open[req_id] = call
            self._counters["calls"] += 1
            return self._assign(call)
        return None

    def _assign(self, call: MethodCall) -> MethodCall | None:
        """Give a call to this thread, by returning it, to another one, or to a task; refuse it beyond the limits."""
        method, limits = self.methods.get(call.method), self._limits
        if method is None:
            known = ", ".join(sorted(self.methods)[:20]) or "none"
            self._decline(
                call, Reason.UNKNOWN_METHOD, f"there is no method '{call.method}': there is {known}"
            )
            return None
        if method.is_async:
            if self.async_methods().running >= limits.tasks:
                self._decline(call, Reason.FULL, f"{limits.tasks} tasks are running")
            else:
                self.async_methods().submit(call, method)
            return None
        # defect nested_call_deadlocks: nested = False
        nested = self._service.instance in call.trail
        if self._workers.try_begin(at_once=nested):
            return call
        if self._workers.waiting >= limits.backlog:
            self._decline(call, Reason.FULL, f"{limits.backlog} calls are waiting")
        else:
            self._workers.put(call)
        return None

    def _decline(self, call: MethodCall, reason: Reason, message: str) -> None:
        self._counters["refused"] += 1
        refuse(call, Error(reason, "", message))

    def async_methods(self) -> AsyncMethods:
        """asyncio is slow to import, and most servers do without."""
        if self._async_methods is None:
            from .async_methods import AsyncMethods

            self._async_methods = AsyncMethods(self._runtime)
        return self._async_methods

    def _cancel(self, call: MethodCall) -> None:
        self._counters["cancelled"] += 1
        call.cancel()
        if call.stream is not None and call.stream.grant(0):
            self._workers.put(call)  # it waited for credit; now it ends

    # Run and reply: in a worker's thread

    def run(self, call: MethodCall) -> None:
        """Run a call, or continue its stream."""
        if call.stream is not None:
            self._continue(call, call.stream)
            return
        if call.hopeless:
            self._counters["expired"] += 1
            call.caller.open.pop(call.req_id, None)
            return
        try:
            method = self.methods[call.method]
            value = invoke(method, call)
        except Refused as refused:
            self._counters["errors"] += 1
            refuse(call, refused.error)
            return
        if type(value) is types.GeneratorType and call.window:
            stream = call.stream = ServerStream(call, value, method.encode_part)
            self._continue(call, stream)
        else:
            answer(call, value, method.encode)

    def _continue(self, call: MethodCall, stream: Any) -> None:
        stopped = stream.run()
        if stopped is Stopped.DONE:
            call.caller.open.pop(call.req_id, None)
        elif stopped is Stopped.ROOM:
            self._unsent.suspend(call)
        elif stopped is Stopped.TURN:
            self._workers.put(call)

    # Checks: in the thread that leads

    def _needs_check(self) -> bool:
        """Whether a check would find something."""
        try:
            self._presence.check()
        except SlipringError:
            return True
        # defect stepped_dead_client_unnoticed: return self._unsent.can_continue()
        return not all(client.lives() for client in self._clients.values()) or self._unsent.can_continue()

    def _check(self) -> None:
        now = self._runtime.clock.monotonic()
        if self._unsent.due(now) and self._unsent.can_continue():
            for call in self._unsent.retry(now, sum(client.sent for client in self._clients.values())):
                self._workers.put(call)
        if now - self._checked >= self._runtime.check_every_s and self._is_present():
            self._checked = self._runtime.clock.monotonic()
            self._forget_dead_clients()

    def _is_present(self) -> bool:
        try:
            self._presence.check()
        except SlipringError as error:
            # defect server_outlives_its_bus: return True
            self._workers.closing = True
            self._lost(error)
            return False
        return True

    def _forget_dead_clients(self) -> None:
        dead = [client for client in self._clients.values() if not client.lives()]
        for client in dead:
            client.gone = True
            del self._clients[client.client]
        for call in [call for client in dead for call in client.open.values()]:
            self._cancel(call)
        for client in dead:
            client.close()
        if dead:
            cleanup.remove_all(self._bus, self._service.name)

    # The topic of the requests

    def _open_requests(self) -> Subscriber:
        try:
            return self._open_before_creating()
        except TopicExists:  # of an earlier server with other settings
            self._bus.remove(protocol.calls_topic(self._service.name), missing_ok=True)
            return self._open_before_creating()

    def _open_before_creating(self) -> Subscriber:
        """The reader first: a client may send as soon as the topic exists."""
        topic = protocol.calls_topic(self._service.name)
        # defect server_reads_too_late: self._bus.create(topic, **self._topic_settings)
        #     return self._bus.subscriber(topic, start="new")
        requests = self._bus.subscriber(topic, start="new")
        try:
            self._bus.create(topic, **self._topic_settings)
            requests._ready()  # attaches it
        except BaseException:
            requests.close()
            raise
        return requests

    def _reopen(self, error: SlipringError) -> None:
        """Open the request topic again after it was removed or damaged. Without our presence no client finds us."""
        self._counters["failures"] += 1
        log("calls", "warning", "the request topic failed and is opened again: %s", error)
        if not self._is_present():
            return
        self._runtime.clock.sleep(_REOPEN_AFTER_S)
        with contextlib.suppress(SlipringError):
            requests = self._open_requests()
            self._requests.close()
            self._requests = requests

    # The end

    def close(self, grace_s: float) -> None:
        """Let running methods end within grace_s, refuse the other calls, and remove the request topic."""
        self._workers.stop(grace_s)
        self._ending = True
        self._refuse_all()
        if self._async_methods is not None:
            self._async_methods.close()
        for client in list(self._clients.values()):
            client.close()
        self._clients.clear()
        self._requests.close()
        with contextlib.suppress(SlipringError):  # else the next server takes it as it is
            self._bus.remove(protocol.calls_topic(self._service.name), missing_ok=True)

    def _refuse_all(self) -> None:
        """Calls without an answer, and calls that were not read."""
        for client in list(self._clients.values()):
            for call in list(client.open.values()):
                refuse(call, Error(Reason.GONE, "", ""))
                call.cancel()
        with contextlib.suppress(SlipringError):
            for _ in range(_UNREAD):
                message = self._requests.recv(0)
                if message is None:
                    return
                self._accept(message)

    def stats(self) -> dict[str, Any]:
        clients = list(self._clients.values())
        tasks = self._async_methods.running if self._async_methods else 0
        return {
            **self._counters,
            "clients": len(clients),
            "open": sum(len(client.open) for client in clients),
            "kept": sum(client.kept for client in clients),
            "dropped": sum(client.dropped for client in clients),
            "waiting": self._workers.waiting,
            "running": self._workers.running + tasks,
        }
