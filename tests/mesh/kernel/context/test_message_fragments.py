"""Long messages in fragments: their order, their limits, and invalid ones."""

import pytest
from msgspec.structs import replace

from mesh.kernel.context import message_fragments
from mesh.kernel.context.message_fragments import PATIENCE
from mesh.wire import commands as c
from mesh.wire.envelope import Envelope
from mesh.wire.frames import write
from mesh.wire.limits import FRAME, MAX_CONTENT, MIB, PIECE, PIECES, PIECES_WINDOW
from mesh.wire.pieces import cut
from tests.mesh.kernel.stranger import KEY, STREAM, Stranger
from tests.simulated_client import client_of
from tests.simulation import SimNetwork, SimNode

LONG = bytes(MAX_CONTENT)  # with its header longer than a whole message may be


class Speaker(Stranger):
    """A stranger with the feature of fragments."""

    def say(self, command: c.Command, *envelopes: Envelope) -> None:
        if isinstance(command, c.Hello):
            command = replace(command, speaks=(PIECES,))
        super().say(command, *envelopes)

    def pieces(self) -> list[c.Piece]:
        return [command for command in self.heard if isinstance(command, c.Piece)]


def node() -> SimNode:
    return SimNetwork().node("a")


def speaker(a: SimNode, key: bytes = KEY) -> Speaker:
    made = Speaker(a)
    made.as_client(key, f"speaker-{key.hex()[:4]}")
    return made


def publish(size: int) -> list[c.Piece]:
    envelope = Envelope(STREAM, "", 1, 1, ("k",), 1, size, bytes(size))
    return list(cut(write(c.Publish((max(1, -(-size // MIB)),)), (envelope,))))


def coming(a: SimNode) -> int:
    return a.core.parts.piecework.held


def gathered(a: SimNode) -> int:
    """Return the bytes that arrived in fragments, on all open connections."""
    return sum(conn.gatherer.taken for conn in a.core._conns.values() if conn.gatherer is not None)


def test_trial_B2_between_nodes_a_long_message_travels_in_pieces_and_in_its_order() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    reader = client_of(b).connected().subscribed(pattern="#")
    publisher = client_of(a).connected()
    contents = [b"1", LONG, b"2", LONG, b"3"]
    for content in contents:
        publisher.publish("k", content)
    publisher.settled()
    net.until(lambda: len(reader.got) == len(contents))
    assert reader.contents == contents
    assert gathered(b) > 2 * len(LONG) and coming(b) == 0


def test_trial_B2_what_was_half_there_when_a_link_broke_comes_again() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    reader = client_of(b).connected().subscribed("k")
    publisher = client_of(a).connected()
    publisher.publish("k", LONG)
    net.until(lambda: coming(b) > 0)
    net.break_all("b")
    net.until(lambda: reader.contents == [LONG])
    assert coming(b) == 0


def test_who_does_not_know_pieces_gets_none() -> None:
    a = node()
    old = Stranger(a)
    old.as_client()
    old.say(c.Subscribe(1, 1, c.Query("exact", "k")))
    publisher = client_of(a)
    publisher.publish("k", LONG)
    publisher.settled()
    a.net.run(1)
    assert [type(said).__name__ for said in old.heard].count("Items") == 1
    assert not any(isinstance(said, c.Piece) for said in old.heard)


def test_trial_B2_behind_a_window_a_client_gets_more_only_when_it_acknowledges() -> None:
    a = node()
    slow = speaker(a)
    slow.say(c.Subscribe(1, 1, c.Query("exact", "k")))
    publisher = client_of(a)
    for _ in range(4):
        publisher.publish("k", LONG)
    publisher.settled()
    a.net.run(1)
    sent = sum(len(piece.data) for piece in slow.pieces())
    assert PIECES_WINDOW - PIECE < sent <= PIECES_WINDOW + PIECE
    slow.say(c.Ping(7))
    assert slow.heard[-1] == c.Pong(7), "which passes what waits"
    slow.say(c.Call(5, "info"))
    assert slow.heard[-1] == c.Pong(7), "and nothing else does"
    slow.say(c.PieceAck(sent))
    now = sum(len(piece.data) for piece in slow.pieces())
    assert now > sent
    while (sent := now) < 4 * len(LONG):
        slow.say(c.PieceAck(sent))
        now = sum(len(piece.data) for piece in slow.pieces())
    slow.say(c.PieceAck(sent))
    assert isinstance(slow.heard[-1], c.Reply) and slow.heard[-1].request == 5
    slow.say(c.PieceAck(2**62))
    assert slow.refusal == "FORGED_ACK"


def test_a_publisher_in_pieces_is_answered_as_any_other() -> None:
    a = node()
    stranger = speaker(a)
    for piece in publish(MAX_CONTENT):
        stranger.say(piece)
    assert [said for said in stranger.heard if isinstance(said, c.PieceAck)][-1].taken > MAX_CONTENT
    (answers,) = [said for said in stranger.heard if isinstance(said, c.Answers)]
    assert answers.answers[0].state == "OK" and coming(a) == 0


LIES: dict[str, tuple[list[c.Piece] | list[c.PieceAck], str]] = {
    "beyond max_content": (publish(MAX_CONTENT + PIECE), "TOO_LARGE"),
    "beyond all": ([c.Piece((FRAME,) * 100, b"x")], "TOO_LARGE"),
    "more than announced": ([c.Piece((1,), b"xx")], "MALFORMED"),
    "no beginning": ([c.Piece((), b"x")], "MALFORMED"),
    "a message that is none": ([c.Piece((1,), b"x")], "MALFORMED"),
    "acknowledged, and nothing sent": ([c.PieceAck(1)], "FORGED_ACK"),
    "a HELLO in pieces": (list(cut(write(c.Who()))), "UNEXPECTED"),
}


@pytest.mark.parametrize("name", LIES)
def test_trial_B2_a_liar_is_refused_and_the_node_goes_on(name: str) -> None:
    said, code = LIES[name]
    a = node()
    liar = speaker(a)
    for command in said:
        liar.say(command)
    assert liar.refusal == code and coming(a) == 0
    assert client_of(a).call("info")["name"] == "a"


def test_trial_B2_before_hello_nobody_sends_pieces() -> None:
    a = node()
    liar = Stranger(a)
    for piece in publish(MAX_CONTENT)[:3]:
        liar.say(piece)
    assert coming(a) == 0 and isinstance(liar.heard[-1], c.Who)


def test_trial_B2_half_a_message_ends_with_its_connection() -> None:
    a = node()
    liar = speaker(a)
    for piece in publish(MAX_CONTENT)[:3]:
        liar.say(piece)
    assert coming(a) == 3 * PIECE
    a.net.break_all(liar.name)
    a.net.until(lambda: coming(a) == 0)


def test_trial_B2_who_begins_a_message_and_only_pings_then_is_cut_off() -> None:
    a = node()
    liar = speaker(a)
    liar.say(publish(MAX_CONTENT)[0])
    limit = PATIENCE * a.core.parts.context.settings.silence
    for _ in range(int(limit) - 3):
        liar.say(c.Ping(1))
        a.net.run(0.9)
    assert [liar.refusal] == [""]
    a.net.run(5)
    assert liar.refusal == "STOPPED" and coming(a) == 0


def test_the_time_in_which_the_node_itself_stood_still_does_not_count() -> None:
    a = node()
    frodo = speaker(a)
    frodo.say(publish(MAX_CONTENT)[0])
    limit, now, wall = PATIENCE * a.core.parts.context.settings.silence, a.now, a.wall
    [conn] = [conn for conn in a.core._conns.values() if conn.gatherer is not None]

    def is_given_up(at: float) -> bool:
        a.core.tick(at, wall)
        return conn in a.core.parts.piecework.stopped() or conn.closed

    a.core.lagged(1000.0, now + 1000.0)
    assert not is_given_up(now + 1000.0)
    assert conn.heard == pytest.approx(now + 1000.0, abs=1), "nor is it silent"
    conn.heard = float("inf")  # a peer that pings all the time
    assert not is_given_up(now + 1000.0 + limit - 1)
    a.core.lagged(5.0, now + 1000.0 + limit - 1)
    assert not is_given_up(now + 1000.0 + limit + 3)
    assert is_given_up(now + 1000.0 + limit + 6)


def test_trial_B2_all_that_is_unfinished_is_bounded_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(message_fragments, "TOGETHER", 3 * PIECE)
    a = node()
    liars = [speaker(a, bytes([i]) * 32) for i in range(1, 6)]
    for liar in liars:
        liar.say(publish(MAX_CONTENT)[0])
    assert [liar.refusal for liar in liars] == ["", "", "", "NO_ROOM", "NO_ROOM"]
    assert coming(a) == 3 * PIECE


def test_who_holds_most_is_cut_off_and_not_whoever_comes_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise connections with large unfinished messages keep others from sending large ones."""
    monkeypatch.setattr(message_fragments, "TOGETHER", 4 * PIECE)
    a = node()
    liars, frodo = [speaker(a, bytes([i]) * 32) for i in (1, 2)], speaker(a)
    pieces = publish(MAX_CONTENT)
    for piece in pieces[:3]:
        liars[0].say(piece)
    liars[1].say(pieces[0])
    for piece in publish(2 * PIECE):
        frodo.say(piece)
    assert [client.refusal for client in (*liars, frodo)] == ["NO_ROOM", "", ""]
    assert coming(a) == PIECE and sum(not conn.closed for conn in a.core._conns.values()) == 2


def test_trial_9_insiders_who_come_again_and_again_never_hold_more_than_all_may(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The fragments of a connection are dropped when it ends, and not at a later time."""
    most = 4 * PIECE
    monkeypatch.setattr(message_fragments, "TOGETHER", most)
    a = node()
    kept = dict.fromkeys(a.core._conns.values())
    liars = [speaker(a, bytes([i]) * 32) for i in range(1, 7)]
    pieces = publish(MAX_CONTENT)
    for turn in range(12):
        number = turn % len(liars)
        if liars[number].is_gone:
            liars[number] = speaker(a, bytes([number + 1]) * 32)
            at = 0
        else:
            at = turn // len(liars)
        kept.update(dict.fromkeys(a.core._conns.values()))
        liars[number]._pipe.send(0, write(pieces[at]))  # type: ignore[union-attr]
        a.net.run(0.001)
        # This holds for all connections ever: a closed one holds nothing, even if it is still referenced.
        assert sum(conn.gatherer.held for conn in kept if conn.gatherer is not None) <= most
    assert any(liar.refusal == "NO_ROOM" for liar in liars)


def test_trial_9_a_connection_that_ends_leaves_nothing_of_what_it_had_begun() -> None:
    a = node()
    liar = speaker(a)
    for piece in publish(MAX_CONTENT)[:3]:
        liar.say(piece)
    (conn,) = [conn for conn in a.core._conns.values() if conn.gatherer is not None]
    a.net.break_all(liar.name)
    a.net.until(lambda: conn.closed)
    assert conn.gatherer is None and conn.cutter is None
