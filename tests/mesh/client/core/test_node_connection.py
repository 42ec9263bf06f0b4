"""The connection of a client to its node, from the dial to its end, without sockets."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from mesh.client import operating
from mesh.client.access import Access
from mesh.client.core.effects import ClientEffect, CloseConnection, DialNode, Find, Report, SendCommand
from mesh.client.core.node_connection import PATIENCE, PING, REDIAL_MAX, SILENCE, SILENT, STEADY
from mesh.errors import Closed, KeysRefused, NodeNotFound, Refused, RemoteError
from mesh.proof import prove, stream_text
from mesh.security.signing import verify
from mesh.wire import commands as c
from mesh.wire.limits import OPERATOR
from tests.mesh.client.core.benches import ACCESS, KEY, LineBench, result
from tools.costing.wire import MASTER, WELCOME

SECRET = b"cookie"
TCP = Access("tcp://127.0.0.1:7700", secret=SECRET)
NONCE = b"n" * 16
AWAY = NodeNotFound("nobody is there.")


def hellos(bench: LineBench) -> list[c.Hello]:
    return [command for command in bench.sent() if isinstance(command, c.Hello)]


# --- connecting ---------------------------------------------------------------------------------------


def test_it_looks_for_its_node_dials_says_hello_and_is_up_when_it_is_welcome() -> None:
    bench = LineBench()
    opening = bench.line.connect(waits=False)
    assert bench.wait() == [Find()]
    bench.line.found(ACCESS)
    dial, send = bench.wait()
    assert dial == DialNode(1, ACCESS)
    assert isinstance(send, SendCommand) and (send.key, type(send.command)) == (1, c.Hello)
    [hello] = hellos(bench)
    assert (hello.client, hello.session, hello.named, hello.stream) == ("joe", 0, False, KEY.id)
    assert not opening.done() and not bench.line.send_command(c.Pong(1)), "it is not up yet"
    bench.hear(WELCOME)
    assert result(opening) is None
    assert (bench.line.is_up, bench.line.name, bench.line.home) == (True, WELCOME.session, "heron")
    assert bench.welcomed == [(WELCOME, True)]
    assert bench.line.send_command(c.Pong(1)) and bench.wait() == [SendCommand(1, c.Pong(1))]


def test_who_is_asked_for_proof_gives_it_and_signs_for_the_node_that_asked() -> None:
    bench = LineBench()
    bench.dialled(TCP)
    mine = hellos(bench)[0].nonce
    bench.hear(c.Challenge(NONCE, TCP.address, MASTER))
    answer = hellos(bench)[-1]
    assert answer.nonce == mine
    assert answer.proof == prove(SECRET, "dialler", mine, NONCE, TCP.address)
    assert verify(answer.key, answer.signature, stream_text(mine, NONCE, TCP.address, MASTER))
    bench.hear(replace(WELCOME, proof=prove(SECRET, "listener", mine, NONCE, TCP.address)))
    assert bench.line.is_up


def test_who_passes_on_the_words_of_another_gets_no_proof() -> None:
    bench = LineBench()
    bench.dialled(TCP)
    bench.context.set_time(0.0)
    with pytest.raises(RemoteError, match="not the dialed address"):
        bench.line.heed(c.Challenge(NONCE, "tcp://10.0.0.1:7700", MASTER))
    assert len(hellos(bench)) == 1


@pytest.mark.parametrize(
    ("asked_by", "proof"),
    [(MASTER, b""), (b"x" * 16, prove(SECRET, "listener", bytes(16), NONCE, TCP.address))],
    ids=("without the secret", "another than who asked"),
)
def test_a_node_that_proves_nothing_is_left_for_good(asked_by: bytes, proof: bytes) -> None:
    bench = LineBench()
    opening = bench.dialled(TCP)
    bench.hear(c.Challenge(NONCE, TCP.address, asked_by))
    bench.hear(replace(WELCOME, proof=proof))
    with pytest.raises(Refused, match="does not know this user's cookie") as caught:
        result(opening)
    assert caught.value.code == "BAD_COOKIE"
    assert not bench.line.is_up and bench.done[-1] == CloseConnection(1) and not bench.welcomed


def test_a_node_of_a_version_that_nobody_knows_here_is_left() -> None:
    bench = LineBench()
    opening = bench.dialled()
    bench.hear(replace(WELCOME, version=0))
    with pytest.raises(Refused, match="which this client does not support") as caught:
        result(opening)
    assert caught.value.code == "VERSION"


# --- failures to connect ------------------------------------------------------------------------------


def test_a_node_that_is_not_there_is_told_at_once_unless_it_is_waited_for() -> None:
    bench = LineBench()
    opening = bench.line.connect(waits=False)
    bench.wait()
    bench.line.not_found(AWAY)
    with pytest.raises(NodeNotFound):
        result(opening)


def test_a_node_that_is_waited_for_is_looked_for_until_it_is_there() -> None:
    bench = LineBench()
    opening = bench.line.connect(waits=True)
    for _ in range(5):
        assert [effect for effect in bench.wait(REDIAL_MAX) if not isinstance(effect, Report)] == [Find()]
        bench.line.not_found(AWAY)
    assert bench.line.why is AWAY and not opening.done()
    bench.wait(REDIAL_MAX)
    bench.line.found(ACCESS)
    assert bench.line.why is None, "it is there now"
    bench.hear(WELCOME)
    assert result(opening) is None


@pytest.mark.parametrize(
    "error", [KeysRefused("no keys."), NodeNotFound("which one?", code="MANY_NODES")], ids=("keys", "many")
)
def test_what_waiting_does_not_change_is_told_at_once(error: Exception) -> None:
    bench = LineBench()
    opening = bench.line.connect(waits=True)
    bench.wait()
    bench.line.not_found(error)  # type: ignore[arg-type]
    with pytest.raises(type(error)):
        result(opening)


def test_a_refusal_that_is_final_is_raised_and_told() -> None:
    bench = LineBench()
    opening = bench.dialled()
    bench.hear(c.Refuse("BAD_PASSWORD", "the password is wrong", "Ask for it.", final=True))
    with pytest.raises(Refused, match="heron refused: the password is wrong") as caught:
        result(opening)
    assert (caught.value.code, caught.value.hint) == ("BAD_PASSWORD", "Ask for it.")
    assert bench.told() == [("refused", "the password is wrong [BAD_PASSWORD]")]
    assert CloseConnection(1) in bench.done


def test_who_waits_in_vain_is_told_what_the_node_said_and_not_that_there_is_none() -> None:
    bench = LineBench()
    bench.dialled()
    bench.hear(c.Refuse("TOO_MANY_SESSIONS", "this node has 2 sessions", "Close some."))
    why = bench.line.why
    assert isinstance(why, Refused) and (why.code, why.hint) == ("TOO_MANY_SESSIONS", "Close some.")
    bench.wait(1.0)
    bench.line.found(ACCESS)
    assert bench.line.why is why, "until there is something else to be said"
    bench.hear(WELCOME)
    assert bench.line.is_up and bench.line.why is None


def test_a_connection_that_ends_without_an_answer_may_be_one_too_many() -> None:
    bench = LineBench()
    bench.dialled()
    bench.line.lose("disconnected")
    why = bench.line.why
    assert isinstance(why, NodeNotFound) and "without an answer" in why.what
    assert "limits.connections" in why.hint


def test_a_node_that_stands_still_after_a_refusal_is_not_said_to_refuse() -> None:
    bench = LineBench()
    bench.dialled()
    bench.hear(c.Refuse("TOO_MANY_SESSIONS", "this node has 2 sessions"))
    bench.wait(1.0)
    bench.line.found(ACCESS)
    bench.wait(2 * PATIENCE)
    assert bench.line.why is None


def test_the_operators_commands_say_so_in_their_hello() -> None:
    bench = LineBench()
    bench.dialled()
    assert OPERATOR not in hellos(bench)[-1].speaks
    operating.mark(True)
    try:
        bench = LineBench()
        bench.dialled()
    finally:
        operating.mark(False)
    assert OPERATOR in hellos(bench)[-1].speaks


def test_a_refusal_that_is_not_final_is_told_and_it_dials_again() -> None:
    bench = LineBench()
    opening = bench.dialled()
    bench.hear(c.Refuse("SESSION_IN_USE", "somebody has it"))
    assert not opening.done() and bench.told() == [("refused", "somebody has it [SESSION_IN_USE]")]
    assert not bench.objections, "it objects to what was said only when we are in"
    bench.wait(REDIAL_MAX)
    assert bench.done[-2:] == [CloseConnection(1), Find()]
    bench.line.found(ACCESS)
    assert bench.wait()[0] == DialNode(2, ACCESS)
    bench.hear(WELCOME)
    assert result(opening) is None


@pytest.mark.parametrize(
    ("code", "is_at_once"), [("NO_KEYS", True), ("NO_KEYS_THERE", True), ("OTHER", False)]
)
def test_no_handshake_for_want_of_keys_is_raised_and_any_other_may_pass(code: str, is_at_once: bool) -> None:
    bench = LineBench()
    opening = bench.dialled()
    error = Refused("no handshake.", code=code)
    bench.line.on_failed(error)
    bench.wait()
    assert bench.told() == [("refused", f"no handshake. [{code}]")]
    assert (opening.done(), bench.line.why) == (is_at_once, error)


# --- an open connection -------------------------------------------------------------------------------


def test_a_node_that_does_not_answer_a_hello_is_dialled_anew() -> None:
    bench = LineBench()
    bench.dialled()
    bench.wait(PATIENCE - 0.01)
    assert CloseConnection(1) not in bench.done
    bench.wait(0.02)
    assert CloseConnection(1) in bench.done and bench.told() == [], "it was never up"
    assert bench.wait(REDIAL_MAX) == [Find()]


def test_it_pings_and_a_node_that_answers_is_kept() -> None:
    bench = LineBench()
    bench.up()
    for n in range(1, 11):
        assert bench.wait(PING) == [SendCommand(1, c.Ping(int(n * PING * 1e6)))]
        bench.hear_pong()
    assert bench.line.is_up


@pytest.mark.parametrize("answers", [True, False])
def test_who_stood_still_himself_asks_before_he_calls_his_node_silent(answers: bool) -> None:
    bench = LineBench()
    bench.up()
    bench.context.now += SILENCE + 3  # no alarm was checked meanwhile
    assert [type(command) for command in commands_of(bench.wait())] == [c.Ping]
    assert bench.line.is_up
    if answers:
        bench.hear_pong()
    lost = [CloseConnection(1), Report("disconnected", f"heron: {SILENT}")]
    assert (bench.wait(PING)[:2] == lost) is not answers
    assert bench.line.is_up is answers


@pytest.mark.parametrize(("late", "is_said"), [(4.9, False), (25.0, True)])
def test_a_loop_that_was_blocked_is_reported_with_how_long_and_what_to_do(late: float, is_said: bool) -> None:
    bench = LineBench()
    bench.up()
    bench.context.now += PING + late
    reports = [effect for effect in bench.wait() if isinstance(effect, Report)]
    assert [report.kind for report in reports] == ["blocked"] * is_said
    assert all("for 25 s" in report.text and "asyncio.to_thread" in report.text for report in reports)


def test_a_loop_that_was_blocked_until_its_node_gave_it_up_is_reported_once() -> None:
    bench = LineBench()
    bench.up()
    bench.context.now += PING + 25
    bench.line.lose("disconnected")  # the socket is read before any alarm
    kinds = [effect.kind for effect in bench.wait(REDIAL_MAX) if isinstance(effect, Report)]
    assert kinds == ["blocked", "disconnected"]


def commands_of(effects: list[ClientEffect]) -> list[c.Command]:
    return [effect.command for effect in effects if isinstance(effect, SendCommand)]


def test_a_node_that_is_silent_is_lost_and_dialled_anew() -> None:
    bench = LineBench()
    bench.up()
    bench.wait(SILENCE)
    assert bench.line.is_up
    assert bench.wait(PING) == [CloseConnection(1), Report("disconnected", f"heron: {SILENT}")]
    assert not bench.line.is_up and not bench.line.send_command(c.Pong(1))
    assert bench.wait(REDIAL_MAX) == [Find()]


def test_what_comes_on_a_connection_that_is_gone_is_no_sign_of_life() -> None:
    bench = LineBench()
    bench.up()
    bench.line.lose("disconnected")
    assert not bench.line.hears(1)
    bench.wait(REDIAL_MAX)
    bench.line.found(ACCESS)
    assert not bench.line.hears(1) and bench.line.hears(2)


def test_the_wait_between_dials_grows_up_to_its_most_and_begins_anew_when_it_was_up() -> None:
    bench = LineBench()
    bench.dialled()
    waits = [redial(bench) for _ in range(10)]
    assert waits == sorted(waits) and waits[0] < 0.1 and REDIAL_MAX / 2 < waits[-1] <= REDIAL_MAX
    bench.hear(WELCOME)
    assert redial(bench) == waits[0]


def redial(bench: LineBench) -> float:
    """Lose the connection, if it is there, and dial again; return the seconds until the dial."""
    bench.line.lose("disconnected")
    bench.wait()
    begin = bench.context.now
    while Find() not in bench.wait(bench.context.due - bench.context.now):
        pass
    due = bench.context.now
    bench.line.found(ACCESS)
    bench.wait()
    return round(due - begin, 6)


def test_a_node_that_hangs_up_over_what_is_said_is_dialled_ever_less_often_until_one_lasts() -> None:
    bench = LineBench()
    bench.up()
    waits = []
    for n in range(1, 7):
        refusal = c.Refuse("MALFORMED", f"unreadable {n}")
        bench.hear(refusal)
        assert bench.objections[-1] is refusal
        waits.append(redial(bench))
        bench.hear(WELCOME)
    assert waits == sorted(set(waits))
    bench.keep_up(STEADY + PING)
    assert redial(bench) == waits[0]


def test_that_a_reader_is_too_slow_is_no_objection_to_what_was_said() -> None:
    bench = LineBench()
    bench.up()
    bench.hear(c.Refuse("SLOW_CONSUMER", "too slow"))
    assert not bench.objections and not bench.line.is_up


@pytest.mark.parametrize(
    ("farewell", "why"),
    [
        (c.Bye("it goes"), "the node closed the connection"),
        (c.Bye("stopping"), "the node stops"),
        (c.Who(), "the node does not know this connection"),
    ],
    ids=("bye", "stopping", "who"),
)
def test_a_node_that_goes_away_is_dialled_anew(farewell: c.Command, why: str) -> None:
    bench = LineBench()
    bench.up()
    bench.hear(farewell)
    assert bench.told() == [("disconnected", f"heron: {why}")]
    bench.wait(REDIAL_MAX)
    assert bench.done[-1] == Find()


# --- reconnecting -------------------------------------------------------------------------------------


def test_it_comes_back_as_the_session_that_it_was() -> None:
    bench = LineBench()
    bench.up(replace(WELCOME, token=b"token"))
    bench.line.inlet.accept_number(1)
    redial(bench)
    hello = hellos(bench)[-1]
    assert (hello.session, hello.token, hello.boot_seen, hello.have) == (1, b"token", 1, 1)


@pytest.mark.parametrize(
    ("boot", "following", "is_new"),
    [(1, 4, False), (1, 3, True), (2, 4, True)],
    ids=("same", "forgot", "restarted"),
)
def test_a_node_that_knows_no_more_what_it_sent_begins_a_new_session(
    boot: int, following: int, is_new: bool
) -> None:
    bench = LineBench()
    bench.up()
    for seq in (1, 2, 3):
        bench.line.inlet.accept_number(seq)
    redial(bench)
    bench.hear(replace(WELCOME, node=replace(WELCOME.node, boot=boot), next=following))
    assert bench.welcomed[-1][1] is is_new
    assert bench.line.inlet.have == (0 if is_new else 3)


# --- closing ------------------------------------------------------------------------------------------


def looking(bench: LineBench) -> None:
    bench.line.connect(waits=False)
    bench.wait()


def dialling(bench: LineBench) -> None:
    bench.dialled()


def proving(bench: LineBench) -> None:
    bench.dialled()
    bench.hear(c.Challenge(NONCE, ACCESS.address))


def being_up(bench: LineBench) -> None:
    bench.up()


def waiting_to_dial(bench: LineBench) -> None:
    bench.up()
    bench.line.lose("disconnected")
    bench.wait()


BYE: list[ClientEffect] = [SendCommand(1, c.Bye("done")), CloseConnection(1)]


@pytest.mark.parametrize(
    ("begin", "last_words"),
    [(looking, []), (dialling, BYE), (proving, BYE), (being_up, BYE), (waiting_to_dial, [])],
)
def test_in_whatever_state_it_is_closed_it_says_bye_hangs_up_and_has_no_alarm_left(
    begin: Callable[[LineBench], None], last_words: list[ClientEffect]
) -> None:
    bench = LineBench()
    begin(bench)
    bench.line.close()
    assert bench.wait() == last_words
    assert bench.context.due == float("inf") and not bench.line.is_up
    bench.line.found(ACCESS)  # an answer that was still under way
    bench.line.not_found(AWAY)
    bench.line.lose("disconnected")
    bench.line.close()
    assert bench.wait(60.0) == [] and not bench.line.hears(1)


def test_who_waits_for_it_to_open_hears_that_it_was_closed() -> None:
    bench = LineBench()
    opening = bench.dialled()
    bench.line.close()
    with pytest.raises(Closed):
        result(opening)


def test_one_that_was_closed_may_be_opened_again() -> None:
    bench = LineBench()
    bench.line.connect(waits=True)
    bench.wait()
    bench.line.not_found(AWAY)
    bench.line.close()
    opening = bench.dialled()
    assert bench.line.why is None
    bench.hear(WELCOME)
    assert result(opening) is None
