"""Commands of sessions wait while a transaction over several stores is under way."""

from __future__ import annotations

from typing import cast

import pytest

from mesh.errors import MeshError, RemoteError
from mesh.kernel.context.conn import Conn
from mesh.kernel.subscribers.held_streams import MOST, HeldStreams
from mesh.wire.envelope import Envelope

STREAM = b"s" * 16


class Line:
    """A stand-in for a connection."""

    closed = False


def held() -> tuple[HeldStreams, Conn, list[object]]:
    seen: list[object] = []
    streams = HeldStreams(lambda conn, error: seen.append(error.code))
    return streams, cast(Conn, Line()), seen


def test_commands_run_in_order_when_the_stream_is_released_and_not_before() -> None:
    streams, conn, seen = held()
    assert not streams and not streams.defer(conn, STREAM, lambda: None, ())
    streams.hold(STREAM)
    for n in range(3):
        assert streams.defer(conn, STREAM, lambda n=n: seen.append(n), ())  # type: ignore[misc]
    assert not streams.defer(conn, b"o" * 16, lambda: None, ())
    assert seen == []
    streams.release(STREAM)
    assert seen == [0, 1, 2] and not streams


def test_a_command_may_hold_the_stream_again() -> None:
    streams, conn, seen = held()
    streams.hold(STREAM)
    streams.defer(conn, STREAM, lambda: streams.hold(STREAM), ())
    streams.defer(conn, STREAM, lambda: seen.append(1), ())
    streams.release(STREAM)
    assert seen == []
    streams.release(STREAM)
    assert seen == [1]


def test_commands_of_an_ended_connection_are_dropped_and_rejected_ones_reported() -> None:
    streams, conn, seen = held()
    gone = cast(Conn, Line())
    streams.hold(STREAM)
    streams.defer(gone, STREAM, lambda: seen.append("gone"), ())

    def rejected() -> None:
        raise MeshError("no", code="FORGED_SENDER")

    streams.defer(conn, STREAM, rejected, ())
    streams.defer(conn, STREAM, lambda: seen.append("next"), ())
    gone.closed = True
    streams.release(STREAM)
    assert seen == ["FORGED_SENDER", "next"]


def test_the_bytes_that_wait_are_limited() -> None:
    streams, conn, _ = held()
    streams.hold(STREAM)
    e = Envelope(STREAM, "", 1, 1, ("k",), 1, MOST // 2, bytes(MOST // 2))
    streams.defer(conn, STREAM, lambda: None, (e,))
    with pytest.raises(RemoteError):
        streams.defer(conn, STREAM, lambda: None, (e,))
