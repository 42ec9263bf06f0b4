"""Small histories, made by hand. A time is s after START, or a datetime."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from itertools import count
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DoubleType

from mesh.history.reading import HISTORY
from tests.spark.writing import START, uuid

Row = dict[str, Any]
_REAL = {field.name for field in HISTORY if isinstance(field.dataType, DoubleType)}
_numbers = count(1)


def history(session: SparkSession, rows: Iterable[Row]) -> DataFrame:
    """Return the rows as `mesh.history.reading.history` does."""
    whole = [tuple(_whole(row).get(name) for name in HISTORY.fieldNames()) for row in rows]
    return session.createDataFrame(whole, HISTORY)


def state(node: str, at: float | datetime, **fields: Any) -> Row:
    """Return a node's report about itself."""
    said = {"kind": "state", "node": node, "uuid": uuid(node), "boot": 1, "at": at, "load": 0.25, "cores": 4}
    return said | {"version": next(_numbers), "up": at, "published": 0.0, "delivered": 0.0} | fields


def event(event: str, observer: str, node: str, at: float | datetime, **fields: Any) -> Row:
    """Return an event that an observer noticed."""
    return _line("event", observer, node, at, {"event": event} | fields)


def link(observer: str, node: str, at: float, **fields: Any) -> Row:
    """Return the state of the link of an observer with a node."""
    return _line("link", observer, node, at, {"state": "logged in", "rtt": 0.001, "skew": 0.0} | fields)


def balance(observer: str, node: str, at: float, **fields: Any) -> Row:
    """Return what an observer has sent to a node so far."""
    return _line("balance", observer, node, at, fields)


def queue(observer: str, queue: str, at: float | datetime, depth: int | None, **fields: Any) -> Row:
    """Return the backlog of a queue at an observer."""
    return _line("queue", observer, observer, at, {"queue": queue, "depth": depth} | fields)


def topic(observer: str, topic: str, at: float | datetime, messages: int | None, **fields: Any) -> Row:
    """Return what an observer has accepted of a topic so far."""
    return _line(
        "topic", observer, observer, at, {"topic": topic, "domain": "", "messages": messages} | fields
    )


def service(observer: str, node: str, at: float | datetime, address: str, **fields: Any) -> Row:
    """Return the outcomes so far of what clients of an observer sent to an address at a node."""
    return _line("service", observer, node, at, {"address": address} | fields)


def told(frame: DataFrame, *keys: str) -> dict[Any, Row]:
    """Return the rows by their keys (by the key itself, if it is one), with moments as s after START."""
    found = {}
    for row in frame.collect():
        plain = {name: _plain(value) for name, value in row.asDict().items()}
        key = tuple(plain[name] for name in keys)
        assert key not in found
        found[key] = plain
    return {key[0]: row for key, row in found.items()} if len(keys) == 1 else dict(found)


def _line(kind: str, observer: str, node: str, at: float | datetime, fields: Row) -> Row:
    line = {
        "kind": kind,
        "observer": observer,
        "observer_uuid": uuid(observer),
        "observer_boot": 1,
        "age": 0.5,
    }
    return line | {"line": next(_numbers), "node": node, "uuid": uuid(node), "boot": 1, "at": at} | fields


def _whole(row: Row) -> Row:
    ts = row["at"] if isinstance(row["at"], datetime) else START + timedelta(seconds=row["at"])
    real = {name: float(value) for name, value in row.items() if name in _REAL and value is not None}
    return {"cluster": "lab", "ts": ts, "date": ts.date(), "hour": ts.hour} | row | real


def _plain(value: Any) -> Any:
    return round(value.timestamp() - START.timestamp(), 6) if isinstance(value, datetime) else value
