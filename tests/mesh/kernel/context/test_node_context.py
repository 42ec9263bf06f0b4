"""What all parts of a core share: denied names, refused requests and connections that end."""

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
def desk() -> NodeContext:
    made = NodeContext(Settings(me=Introduction(b"m" * 16, "bilbo", 1, "")), bytes, lambda: 0.5)
    made.clock.at(1.0, WALL)
    return made


@pytest.fixture
def conn() -> Conn:
    return Conn("peer", True, True, "", 0.0, 0.0, is_open=True)


def sent(desk: NodeContext) -> list[object]:
    return [read(effect.frames)[0] for effect in desk.out.effects if isinstance(effect, Send)]


def test_a_denied_name_is_that_of_either_end(desk: NodeContext) -> None:
    assert desk.denies("heron") == ""
    desk.denied = frozenset({"heron"})
    assert (desk.denies("heron"), desk.denies("frodo")) == ("heron", "")
    desk.denied = frozenset({"bilbo"})
    assert desk.denies("frodo") == "bilbo"


def test_a_refused_request_is_answered_with_its_code(desk: NodeContext, conn: Conn) -> None:
    def work() -> None:
        raise BadName("no name")

    desk.out.reply_to(conn, 7, work)
    (reply,) = sent(desk)
    assert isinstance(reply, Reply) and (reply.request, reply.code) == (7, "BAD_NAME")


def test_nothing_is_sent_on_a_closed_connection_and_it_is_hung_up_once(desk: NodeContext, conn: Conn) -> None:
    desk.end_connection(conn)
    desk.end_connection(conn)
    desk.out.send(conn, Ping(1))
    desk.out.raw(conn, [b"x"])
    desk.out.send(None, Ping(1))
    assert desk.out.effects == [HangUp("peer")]
    assert list(desk.facts.queue) == [ConnEnded(conn), ConnEnded(conn)]


@pytest.mark.parametrize("is_open", [True, False])
def test_a_broken_protocol_ends_the_connection_and_strangers_fill_no_log(
    desk: NodeContext, is_open: bool
) -> None:
    desk.facts.watched = True
    for number in range(3):
        conn = Conn(number, False, False, "", 0.0, 0.0, is_open=is_open)
        desk.broke_protocol(conn, "mallory", None, RemoteError("no frame", code="MALFORMED"))
    assert desk.counters.values["malformed"] == 3
    refusals = sent(desk)
    assert [refusal.code for refusal in refusals if isinstance(refusal, Refuse)] == ["MALFORMED"] * 3
    assert sum(isinstance(effect, HangUp) for effect in desk.out.effects) == 3
    assert sum(isinstance(fact, ProtocolBroken) for fact in desk.facts.queue) == 3
    levels = [effect.level for effect in desk.out.effects if isinstance(effect, LogLine)]
    assert levels == (["warning"] * 3 if is_open else ["info"])
