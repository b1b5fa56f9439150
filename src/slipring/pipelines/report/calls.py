# SPDX-License-Identifier: Apache-2.0
"""Recorded calls: their client and method, their duration and their outcome.

A call is a message on ``<service>.calls``, its answer a message on ``<service>.reply.<client>`` (docs/spec/calls.md).
They are decoded as a server decodes them. Messages of another form are counted and skipped. An answer belongs to the
call with the same service, client and ``req_id``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .rows import percentiles

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame

CALLS_TOPIC = r"^(.+)\.calls$"
REPLY_TOPIC = r"^(.+)\.reply\.([0-9a-f]{16})$"
_DECODED = (
    "service string, client string, request long, kind string, detail string, error string, timestamp_ns long"
)
KINDS = {2: "call", 3: "cancel", 4: "credit", 5: "result", 6: "part", 7: "chunk", 8: "end", 9: "error"}
_BELONG = {True: {"call", "cancel", "credit"}, False: {"result", "part", "chunk", "end", "error"}}


def decoded(rows: DataFrame) -> DataFrame:
    """Return one row for each message on topics of calls; kind "malformed" for messages of another form."""
    from pyspark.sql import functions as F

    ours = F.col("topic").rlike(CALLS_TOPIC) | F.col("topic").rlike(REPLY_TOPIC)
    asked = F.col("topic").rlike(CALLS_TOPIC)
    known = (
        rows.where("value IS NOT NULL")
        .where(ours)
        .select(
            F.when(asked, F.regexp_extract("topic", CALLS_TOPIC, 1))
            .otherwise(F.regexp_extract("topic", REPLY_TOPIC, 1))
            .alias("service"),
            F.when(asked, F.coalesce("sender", F.lit("")))
            .otherwise(F.regexp_extract("topic", REPLY_TOPIC, 2))
            .alias("client"),
            asked.alias("asked"),
            "timestamp_ns",
            "value",
        )
    )
    return known.mapInArrow(_decode, _DECODED)


def _decode(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
    import pyarrow

    for batch in batches:
        bodies, asked = batch.column("value").to_pylist(), batch.column("asked").to_pylist()
        found = [_decoded_one(body, is_asked) for body, is_asked in zip(bodies, asked, strict=True)]
        request, kind, detail, error = zip(*found, strict=True) if found else ((), (), (), ())
        texts = [pyarrow.array(column, pyarrow.string()) for column in (kind, detail, error)]
        yield pyarrow.RecordBatch.from_arrays(
            [
                batch.column("service").cast(pyarrow.string()),
                batch.column("client").cast(pyarrow.string()),
                pyarrow.array(request, pyarrow.int64()),
                *texts,
                batch.column("timestamp_ns"),
            ],
            ["service", "client", "request", "kind", "detail", "error", "timestamp_ns"],
        )


def _decoded_one(body: bytes, asked: bool) -> tuple[int, str, str, str]:
    """Return req_id (as a signed number), kind, method or reason, type of the error."""
    from slipring._bus.calls import protocol as m
    from slipring._bus.calls.envelope import Malformed, decode

    try:
        req_id, payload = decode(body)
    except Malformed:
        return 0, "malformed", "", ""
    kind = type(payload).__name__.lower()
    if kind not in _BELONG[asked]:
        return 0, "malformed", "", ""
    request = req_id - (1 << 64) if req_id >> 63 else req_id
    if isinstance(payload, m.Call):
        return request, kind, payload.method, ""
    if isinstance(payload, m.Error):
        return request, kind, _reason(payload.reason), payload.type
    return request, kind, "", ""


def _reason(number: int) -> str:
    from slipring._bus.calls.protocol import Reason

    try:
        return Reason(number).name.lower()
    except ValueError:
        return Reason.RAISED.name.lower()  # as a client treats an unknown reason


def each(messages: DataFrame) -> DataFrame:
    """Return one row for each call: service, method, client, time_ns, outcome, reason, error, parts, seconds.

    outcome is "answered", "error", "cancelled" (given up by its client) or "open" (no answer was recorded).
    """
    from pyspark.sql import functions as F

    time, kind = F.col("timestamp_ns"), F.col("kind")
    called, ended = kind == "call", kind.isin("result", "end", "error")
    first = F.struct("timestamp_ns", "kind", "detail", "error")
    grouped = messages.where("kind <> 'malformed'").groupBy("service", "client", "request")
    found = grouped.agg(
        F.min(F.when(called, time)).alias("time_ns"),
        F.min(F.when(called, F.struct("timestamp_ns", "detail")))["detail"].alias("method"),
        F.min(F.when(ended, first)).alias("answer"),
        F.count_if(kind == "cancel").alias("cancels"),
        F.count_if(kind == "part").alias("parts"),
    ).where("time_ns IS NOT NULL")
    failed = F.col("answer.kind") == "error"
    outcome = F.when(F.col("answer").isNull(), F.when(F.col("cancels") > 0, "cancelled").otherwise("open"))
    # greatest() ignores NULL: the duration of a call without an answer would be 0.
    took_ns = F.greatest(F.col("answer.timestamp_ns") - F.col("time_ns"), F.lit(0))
    seconds = F.when(F.col("answer").isNotNull(), took_ns) / 1e9
    return found.select(
        *("service", "method", "client", "request", "time_ns", "parts"),
        outcome.otherwise(F.when(failed, "error").otherwise("answered")).alias("outcome"),
        F.when(failed, F.col("answer.detail")).alias("reason"),
        F.when(failed, F.col("answer.error")).alias("error"),
        seconds.alias("seconds"),
    )


def by_method(calls: DataFrame) -> DataFrame:
    """Return one row for each method of each service."""
    from pyspark.sql import functions as F

    counts: list[Any] = [
        F.count_if(F.col("outcome") == word).alias(name)
        for word, name in (
            *(("answered", "answered"), ("error", "errors")),
            *(("cancelled", "cancelled"), ("open", "open")),
        )
    ]
    clients = F.countDistinct("client").alias("clients")
    found = calls.groupBy("service", "method").agg(
        F.count("*").alias("calls"), *counts, clients, *percentiles("seconds", "seconds")
    )
    return found.orderBy(F.desc("calls"), "service", "method")


def errors(calls: DataFrame) -> DataFrame:
    """Return how often each error was answered."""
    from pyspark.sql import functions as F

    found = calls.where("outcome = 'error'").groupBy("service", "method", "reason", "error")
    return found.agg(F.count("*").alias("calls"), F.max("time_ns").alias("last_ns")).orderBy(
        F.desc("calls"), "service", "method", "reason", "error"
    )
