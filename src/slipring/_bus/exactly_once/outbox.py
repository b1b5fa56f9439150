# SPDX-License-Identifier: Apache-2.0
"""The outbox of a job: rows staged by many processes, published by one, exactly once, whatever is killed.

A job (a Spark query, say) has a directory beside the bus, private to its user:

    <root>/.outbox-<uid>/<bus>/<job>/
        lock              locked by the process that publishes; its text marks the process that runs the job
        7-0-<unique>.part rows staged for batch 7, partition 0, by one attempt of a task
        batch             the batch that is being published: its number and its parts, in order
        done              the number of the last batch that was published
        <topic>.<hash>    how far the job has come on that topic (origin.py)

Parts are staged, then `batch` is renamed into place: from here on the batch consists of these parts, even if it is
staged again in another order. Their rows are published, each with a note (origin.py); then `done` is renamed into place
and the parts are removed. After a kill between any two steps, the next process that publishes for the job continues
there, and a batch that is done is not published again.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Final

from slipring.errors import Busy, Corrupt, SystemFault

from .. import directory
from .origin import lock

PART: Final = ".part"
BRIEF: Final = "job-"  # jobs that are never continued: the outbox of a crashed one is useless
_LOCK_WAIT_S: Final = 60.0
_LOOK_EVERY_S: Final = 0.01


@dataclass(frozen=True)
class Part:
    """Rows staged by one attempt of a task."""

    file: str
    rows: int
    size_bytes: int


@dataclass(frozen=True)
class Batch:
    number: int
    parts: tuple[Part, ...]
    topics: tuple[str, ...]


def directory_of(bus_path: str) -> str:
    """Return the directory of the outboxes of a bus."""
    root, name = os.path.split(bus_path)
    return os.path.join(root, f".outbox-{os.getuid()}", name)


class Outbox:
    def __init__(self, bus_path: str, job: str) -> None:
        self.job = job
        parent = directory_of(bus_path)
        self.path = os.path.join(parent, job)
        self._directories = (os.path.dirname(parent), parent, self.path)

    def stage(self, batch: int, partition: int, owner: str) -> str:
        """Create a file for rows and return its path. owner is the mark of the process that runs the job."""
        for last_try in (False, True):
            directory.make_private(self._directories)
            path = os.path.join(self.path, f"{batch}-{partition}-{uuid.uuid4().hex}{PART}")
            try:
                self._own(owner)
                os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
                return path
            except FileNotFoundError:  # removed between its creation and its use
                if last_try:
                    raise
            except OSError as error:
                raise directory.fault(error, self.path) from error
        raise AssertionError("unreachable")

    def _own(self, owner: str) -> None:
        descriptor = os.open(self._file("lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            if os.pread(descriptor, 4096, 0) != owner.encode():
                os.ftruncate(descriptor, 0)
                os.pwrite(descriptor, owner.encode(), 0)
        finally:
            os.close(descriptor)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lock of the job; waits for another process that publishes for it, which is about to end."""
        directory.make_private(self._directories)
        deadline = time.monotonic() + _LOCK_WAIT_S
        while True:
            try:
                descriptor = lock(self._file("lock"))
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    problem = f"another process publishes for job {self.job}: end the second run of the query"
                    raise Busy(problem, argument="checkpointLocation") from None
                time.sleep(_LOOK_EVERY_S)
        try:
            yield
        finally:
            os.close(descriptor)

    def publish(self, batch: Batch, send: Callable[[Batch], None]) -> None:
        """Publish a batch once, after a batch that an earlier process began and did not finish."""
        # defect sink_batch_not_locked: with contextlib.nullcontext():
        with self.locked():
            # defect sink_begun_batch_ignored: begun = None
            begun = self.begun()
            if begun is not None:
                self._finish(begun, send)
            # defect sink_done_batch_published_again: if True:
            if batch.number > self.done:
                self._check(batch)
                self._replace("batch", json.dumps(asdict(batch)))
                self._finish(batch, send)
            self.clear(batch.number)

    def begun(self) -> Batch | None:
        """Return the batch that a process began to publish and did not finish."""
        text = self._read("batch")
        if not text:
            return None
        try:
            found = json.loads(text)
            parts = tuple(Part(**part) for part in found["parts"])
            batch = Batch(found["number"], parts, tuple(found["topics"]))
        except (ValueError, TypeError, KeyError) as error:
            raise Corrupt(f"'{self._file('batch')}' is damaged: {error}; remove '{self.path}'") from error
        return batch if batch.number > self.done else None

    @property
    def done(self) -> int:
        """The number of the last batch that was published; -1 if there is none."""
        text = self._read("done")
        try:
            return int(text or -1)
        except ValueError:
            raise Corrupt(f"'{self._file('done')}' is damaged: remove '{self.path}'") from None

    def parts(self) -> list[str]:
        return [name for name in os.listdir(self.path) if name.endswith(PART)]

    def clear(self, number: int) -> None:
        """Remove the parts that were staged for batches up to that number."""
        for name in self.parts():
            if int(name.partition("-")[0]) <= number:
                self.drop(name)
        self.drop("batch")

    def drop(self, name: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._file(os.path.basename(name)))

    def remove(self) -> None:
        """Remove the outbox."""
        with contextlib.suppress(FileNotFoundError):
            for name in os.listdir(self.path):
                self.drop(name)
        with contextlib.suppress(OSError):  # directories with outboxes of other jobs stay
            for path in reversed(self._directories):
                os.rmdir(path)

    def _finish(self, batch: Batch, send: Callable[[Batch], None]) -> None:
        send(batch)
        self._replace("done", str(batch.number))

    def _check(self, batch: Batch) -> None:
        """Check, before anything of the batch is published, that every part is as it was staged."""
        for part in batch.parts:
            try:
                found = os.stat(self.file_of(part)).st_size
            except FileNotFoundError:
                found = -1
            # defect sink_missing_rows_found_late: if False:
            if found != part.size_bytes:
                raise SystemFault(
                    f"staged rows of batch {batch.number} are gone: '{self.file_of(part)}' was removed or changed by "
                    f"another program; nothing of the batch was published, and Spark computes it again after a restart",
                    argument="root",
                )

    def file_of(self, part: Part) -> str:
        return self._file(os.path.basename(part.file))

    def _file(self, name: str) -> str:
        return os.path.join(self.path, name)

    def _read(self, name: str) -> str:
        try:
            with open(self._file(name), encoding="utf-8") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def _replace(self, name: str, text: str) -> None:
        """Replace a file at once: a process that is killed leaves the old one."""
        temporary = self._file(f"{name}.new")
        try:
            with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
                file.write(text)
            os.replace(temporary, self._file(name))
        except OSError as error:
            raise directory.fault(error, self.path) from error
