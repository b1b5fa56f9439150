# SPDX-License-Identifier: Apache-2.0
"""A notebook's kernel, in a process of its own, spoken to as a notebook does.

with Kernel(environment) as kernel:
    kernel.run("1 + 1")         the outputs of a cell: Output("execute_result", {"text/plain": "2"}, None)
"""

import queue
import time
from typing import NamedTuple

from support.waiting import WATCHDOG_S

SHOWN = ("display_data", "update_display_data", "execute_result", "stream", "error")


class Output(NamedTuple):
    kind: str
    data: dict[str, str]  # by MIME type; of a stream its text, of an error its traceback
    display: str | None  # the display that it begins, or updates


class Kernel:
    def __init__(self, environment: dict[str, str]) -> None:
        from jupyter_client.manager import KernelManager

        self._manager = KernelManager(kernel_name="python3", transport="ipc")
        self._manager.start_kernel(env=environment, extra_arguments=["--HistoryManager.enabled=False"])
        self._client = self._manager.blocking_client()
        self._client.start_channels(hb=False, stdin=False)
        self._client.wait_for_ready(timeout=WATCHDOG_S)

    def run(self, code: str) -> list[Output]:
        cell, outputs, deadline = self._client.execute(code), [], time.monotonic() + WATCHDOG_S
        while True:
            try:
                message = self._client.get_iopub_msg(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                raise AssertionError(f"the kernel did not finish; so far: {outputs}") from None
            if message["parent_header"].get("msg_id") != cell:
                continue
            kind, content = message["msg_type"], message["content"]
            if kind == "status" and content["execution_state"] == "idle":
                return outputs
            if kind in SHOWN:
                outputs.append(_output(kind, content))

    def __enter__(self) -> "Kernel":
        return self

    def __exit__(self, *exc: object) -> None:
        self._client.stop_channels()
        self._manager.shutdown_kernel(now=True)
        self._manager.context.destroy(linger=0)


def _output(kind: str, content: dict) -> Output:
    if kind == "stream":
        return Output(kind, {"text": content["text"]}, None)
    if kind == "error":
        return Output(kind, {"text": "\n".join(content["traceback"])}, None)
    return Output(kind, content["data"], content.get("transient", {}).get("display_id"))
