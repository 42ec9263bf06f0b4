"""Columns of the history that come from snapshot lines; a test compares them with the fields of the lines."""

from pyspark.sql.types import DoubleType, LongType, StringType, StructField, StructType, TimestampType

_T, _L, _D, _TS = StringType(), LongType(), DoubleType(), TimestampType()

# mesh/snapshots/line.py describes them, and docs/spark.md lists them.
COLUMNS = {
    "kind": _T, "cluster": _T, "observer": _T, "observer_uuid": _T, "observer_boot": _L, "line": _L,
    "ts": _TS, "node": _T, "uuid": _T, "boot": _L, "age": _D,
    # state
    "version": _L, "wall": _TS, "up": _D, "software": _T, "cores": _L, "cpu": _D, "ram_free": _L,
    "ram_total": _L, "load": _D, "lag": _D, "published": _D, "delivered": _D, "pending": _L, "tailback": _L,
    "stored": _L, "sessions": _L, "subscriptions": _L, "links": _L, "requested": _D, "request_p50": _D,
    "request_p99": _D, "request_failed": _D, "served": _D,
    "queued": _L, "machine": _T,
    # event
    "event": _T, "text": _T,
    # link
    "state": _T, "rtt": _D, "skew": _D,
    # queue
    "queue": _T, "depth": _L, "bytes": _L, "oldest": _D, "consumers": _L, "arrives": _D, "leaves": _D,
    "dead": _L, "redelivered": _L, "moved_in": _L, "moved_out": _L, "ready": _L, "wants": _L,
    # balance
    "strategy": _T, "weight": _D, "chosen": _L, "sent": _L, "asked": _L, "answered": _L, "seconds": _D,
    # topic
    "topic": _T, "domain": _T, "messages": _L, "content": _L,
    # service
    "address": _T, "requests": _L, "replies": _L, "failed": _L, "lost": _L, "refused": _L, "expired": _L,
    "p50": _D, "p99": _D,
}  # fmt: skip
LINE = StructType([StructField(name, type_) for name, type_ in COLUMNS.items()])
