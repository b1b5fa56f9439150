# SPDX-License-Identifier: Apache-2.0
"""The same recording as a Delta table, for readers outside Spark: `messages/` with a `_delta_log` of its own.

The log of the lake counts. The Delta log follows it, entry by entry. Each Delta commit has the number of its entry as
an application transaction. So an entry that is already there is skipped, whichever process was killed.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from ..errors import MissingExtra
from . import kill_points
from .errors import DamagedLake
from .locks import lock
from .model import File, Json

if TYPE_CHECKING:
    from .lake import Lake

NEEDED = 'a lake of the format delta needs the package deltalake: pip install "slipring[delta]"'


def mirror(lake: Lake) -> int:
    """Bring the Delta table of the lake, if it has one, up to the log. Return the number of entries applied."""
    if lake.table != "delta":
        return 0
    with lock(lake, "delta", wait=True):
        table, applied = _table(lake), 0
        following = table.transaction_version(_app(lake)) or 0
        for number in range(following, lake.refresh().number):
            entry = lake.log.entry(number)
            if entry["kind"] in ("batch", "compaction"):
                _apply(table, lake, number, entry)
                applied += 1
                kill_points.reached("delta committed")
        return applied


def _app(lake: Lake) -> str:
    return f"slipring-lake-{lake.id}"


def _table(lake: Lake) -> Any:
    try:
        import pyarrow as pa
        from deltalake import DeltaTable, Schema
        from deltalake.exceptions import DeltaError
    except ImportError as error:
        raise MissingExtra(NEEDED) from error
    where = lake.path / "messages"
    text, long = pa.string(), pa.int64()
    fields = [("topic", text), ("date", pa.date32())]
    fields += [(name, long) for name in ("generation", "offset", "span", "lost")]
    fields += [("timestamp", pa.timestamp("us", "UTC")), ("timestamp_ns", long)]
    fields += [
        ("sender", text),
        ("type", text),
        ("value", pa.binary()),
        ("host", text),
        ("received_ns", long),
    ]
    try:
        if not (where / "_delta_log").exists():
            return DeltaTable.create(
                where, Schema.from_arrow(pa.schema(fields)), partition_by=["topic", "date"]
            )
        return DeltaTable(where)
    except DeltaError as error:
        raise DamagedLake(
            f"the Delta table of {where} is damaged ({error}): move its _delta_log away; the next "
            "recording or compaction makes it again from the log of the lake"
        ) from error


def _apply(table: Any, lake: Lake, number: int, entry: Json) -> None:
    from deltalake import CommitProperties, Transaction
    from deltalake.transaction import AddAction, RemoveAction

    now = int(time.time() * 1000)
    changed = entry["kind"] == "batch"
    actions: list[Any] = []
    for file in (File.from_json(one) for one in entry["add"]):
        values = {"topic": file.topic, "date": file.date}
        actions.append(AddAction(_name(file.path), file.bytes, values, now, changed, _statistics(file)))
    for path in entry.get("remove", ()):
        topic, date = (part.split("=", 1)[1] for part in path.split("/")[1:3])
        actions.append(RemoveAction(_name(path), False, now, None, {"topic": topic, "date": date}))
    transaction = Transaction(_app(lake), number + 1)
    table.create_write_transaction(
        actions,
        mode="append",
        schema=table.schema(),
        partition_by=["topic", "date"],
        commit_properties=CommitProperties(app_transactions=[transaction]),
    )
    table.update_incremental()


def _name(path: str) -> str:
    return path.removeprefix("messages/")


def _statistics(file: File) -> str:
    return json.dumps({"numRecords": file.rows})
