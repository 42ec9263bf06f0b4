"""The shared context of all components: denied names, protocol errors and connections that end."""

import pytest

from mesh.errors import BadName, RemoteError
from mesh.kernel.context.conn import Conn
from mesh.kernel.context.effects import HangUp, LogLine, Send
from mesh.kernel.context.facts import ConnEnded, ProtocolBroken
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.context.settings import Settings
from mesh.wire.commands import Introduction, Ping, Refuse, Reply
from mesh.wire.frames import read

SECOND = 1_000_000_000
WALL = 1_700_000_000 * SECOND


@pytest.fixture
def context() -> NodeContext:
    made = NodeContext(Settings(me=Introduction(b"m" * 16, "bilbo", 1, "")), bytes, lambda: 0.5)
    made.clock.set_time(1.0, WALL)
    return made


@pytest.fixture
def conn() -> Conn:
    return Conn("peer", True, True, "", 0.0, 0.0, is_open=True)


def sent(context: NodeContext) -> list[object]:
    return [read(effect.frames)[0] for effect in context.out.effects if isinstance(effect, Send)]


def test_a_denied_name_is_that_of_either_end(context: NodeContext) -> None:
    assert context.denies("heron") == ""
    context.denied = frozenset({"heron"})
    assert (context.denies("heron"), context.denies("frodo")) == ("heron", "")
    context.denied = frozenset({"bilbo"})
    assert context.denies("frodo") == "bilbo"


def test_a_refused_request_is_answered_with_its_code(context: NodeContext, conn: Conn) -> None:
    def work() -> None:
        raise BadName("no name")

    context.out.reply_to(conn, 7, work)
    (reply,) = sent(context)
    assert isinstance(reply, Reply) and (reply.request, reply.code) == (7, "BAD_NAME")


def test_nothing_is_sent_on_a_closed_connection_and_it_is_hung_up_once(
    context: NodeContext, conn: Conn
) -> None:
    context.end_connection(conn)
    context.end_connection(conn)
    context.out.send(conn, Ping(1))
    context.out.raw(conn, [b"x"])
    context.out.send(None, Ping(1))
    assert context.out.effects == [HangUp("peer")]
    assert list(context.facts.queue) == [ConnEnded(conn), ConnEnded(conn)]


@pytest.mark.parametrize("is_open", [True, False])
def test_a_broken_protocol_ends_the_connection_and_strangers_fill_no_log(
    context: NodeContext, is_open: bool
) -> None:
    context.facts.watched = True
    for number in range(3):
        conn = Conn(number, False, False, "", 0.0, 0.0, is_open=is_open)
        context.broke_protocol(conn, "mallory", None, RemoteError("no frame", code="MALFORMED"))
    assert context.counters.values["malformed"] == 3
    refusals = sent(context)
    assert [refusal.code for refusal in refusals if isinstance(refusal, Refuse)] == ["MALFORMED"] * 3
    assert sum(isinstance(effect, HangUp) for effect in context.out.effects) == 3
    assert sum(isinstance(fact, ProtocolBroken) for fact in context.facts.queue) == 3
    levels = [effect.level for effect in context.out.effects if isinstance(effect, LogLine)]
    assert levels == (["warning"] * 3 if is_open else ["info"])
