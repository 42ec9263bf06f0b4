"""The effects of one event, and the connections on which nothing is sent."""

import pytest

from mesh.features.queues.wire import Transferred
from mesh.kernel.context.conn import Conn
from mesh.kernel.context.effects import HangUp, LogLine, Send
from mesh.kernel.context.node_output import NodeOutput
from mesh.wire.commands import Ping
from mesh.wire.frames import read


def conn(key: str = "peer") -> Conn:
    return Conn(key, True, True, "", 0.0, 0.0, is_open=True)


def test_effects_keep_the_order_in_which_they_were_emitted() -> None:
    out, a, b = NodeOutput(), conn("a"), conn("b")
    out.send(a, Ping(1))
    out.log_line("info", "in between")
    out.send(b, Ping(2))
    out.raw(a, [b"x"])
    kinds = [effect.conn if isinstance(effect, Send) else type(effect) for effect in out.effects]
    assert kinds == ["a", LogLine, "b", "a"]


@pytest.mark.parametrize("end", [None, conn()])
def test_nothing_is_sent_where_nobody_is(end: Conn | None) -> None:
    out = NodeOutput()
    if end is not None:
        out.hang_up(end)
        out.hang_up(end)
        out.raw(end, [b"x"])
    out.send(end, Ping(1))
    assert out.effects == ([HangUp("peer")] if end is not None else [])


def test_a_command_that_needs_a_feature_is_sent_only_where_the_feature_is() -> None:
    out, old, new = NodeOutput(), conn("old"), conn("new")
    command = Transferred("jobs", (1, 2))
    assert command.word
    new.speaks = frozenset({command.word})
    out.send(old, command)
    out.send(new, command)
    assert [(effect.conn, read(effect.frames)[0]) for effect in out.effects if isinstance(effect, Send)] == [
        ("new", command)
    ]
