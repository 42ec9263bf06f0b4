"""What all parts of a core share: stamps, alarms, effects and connections that end."""

import pytest
from msgspec.structs import replace

from mesh.core.context.conn import Conn
from mesh.core.context.effects import HangUp, LogLine, Send
from mesh.core.context.facts import ConnEnded, ProtocolBroken
from mesh.core.context.node_context import NodeContext
from mesh.core.context.settings import Settings
from mesh.errors import BadName, RemoteError
from mesh.values import Hop
from mesh.wire.commands import Introduction, Ping, Refuse, Reply
from mesh.wire.frames import read
from tests.mesh.envelopes import envelope

SECOND = 1_000_000_000
WALL = 1_700_000_000 * SECOND


@pytest.fixture
def desk() -> NodeContext:
    made = NodeContext(Settings(me=Introduction(b"m" * 16, "bilbo", 1, "")), bytes, lambda: 0.5)
    made.at(1.0, WALL)
    return made


@pytest.fixture
def conn() -> Conn:
    return Conn("peer", True, True, "", 0.0, 0.0, is_open=True)


def sent(desk: NodeContext) -> list[object]:
    return [read(effect.frames)[0] for effect in desk.effects if isinstance(effect, Send)]


def test_stamps_rise_also_when_the_wall_clock_does_not(desk: NodeContext) -> None:
    stamps = [desk.stamp(), desk.stamp()]
    desk.at(2.0, WALL - SECOND)
    stamps.append(desk.stamp())
    assert stamps == [WALL, WALL + 1, WALL + 2]
    assert desk.last_stamp < desk.stamp()


def test_stamps_are_above_those_of_an_earlier_boot(desk: NodeContext) -> None:
    desk.stamped(WALL + 3600 * SECOND)
    assert desk.stamp() == WALL + 3600 * SECOND + 1


@pytest.mark.parametrize(("ahead", "stamp"), [(59 * SECOND, WALL + 59 * SECOND + 1), (60 * SECOND, WALL)])
def test_a_clock_that_is_a_minute_ahead_does_not_move_ours(desk: NodeContext, ahead: int, stamp: int) -> None:
    desk.observe_timestamp(envelope(sent=WALL + ahead))
    assert desk.stamp() == stamp


def test_a_message_of_another_site_counts_from_its_last_hop_in_this_site(desk: NodeContext) -> None:
    came = replace(envelope(), sender="/site/far/node/a/client/joe", route=(Hop("heron", 0, WALL + SECOND),))
    desk.observe_timestamp(came)
    assert desk.stamp() == WALL + SECOND + 1


def test_the_alarm_is_the_earliest_wish(desk: NodeContext) -> None:
    desk.alarm = 9.0
    for at in (7.0, None, 8.0):
        desk.wake(at)
    assert desk.alarm == 7.0


def test_a_denied_name_is_that_of_either_end(desk: NodeContext) -> None:
    assert desk.denies("heron") == ""
    desk.denied = frozenset({"heron"})
    assert (desk.denies("heron"), desk.denies("frodo")) == ("heron", "")
    desk.denied = frozenset({"bilbo"})
    assert desk.denies("frodo") == "bilbo"


def test_a_refused_request_is_answered_with_its_code(desk: NodeContext, conn: Conn) -> None:
    def work() -> None:
        raise BadName("no name")

    desk.reply_to(conn, 7, work)
    (reply,) = sent(desk)
    assert isinstance(reply, Reply) and (reply.request, reply.code) == (7, "BAD_NAME")


def test_nothing_is_sent_on_a_closed_connection_and_it_is_hung_up_once(desk: NodeContext, conn: Conn) -> None:
    desk.end_connection(conn)
    desk.end_connection(conn)
    desk.send(conn, Ping(1))
    desk.raw(conn, [b"x"])
    desk.send(None, Ping(1))
    assert desk.effects == [HangUp("peer")]
    assert list(desk.facts) == [ConnEnded(conn), ConnEnded(conn)]


@pytest.mark.parametrize("is_open", [True, False])
def test_a_broken_protocol_ends_the_connection_and_strangers_fill_no_log(
    desk: NodeContext, is_open: bool
) -> None:
    desk.watched = True
    for number in range(3):
        conn = Conn(number, False, False, "", 0.0, 0.0, is_open=is_open)
        desk.broke_protocol(conn, "mallory", None, RemoteError("no frame", code="MALFORMED"))
    assert desk.counters["malformed"] == 3
    refusals = sent(desk)
    assert [refusal.code for refusal in refusals if isinstance(refusal, Refuse)] == ["MALFORMED"] * 3
    assert sum(isinstance(effect, HangUp) for effect in desk.effects) == 3
    assert sum(isinstance(fact, ProtocolBroken) for fact in desk.facts) == 3
    levels = [effect.level for effect in desk.effects if isinstance(effect, LogLine)]
    assert levels == (["warning"] * 3 if is_open else ["info"])
