"""The limits of a node's queries, for honest nodes of a large mesh and for one that fills memory."""

import pytest

from mesh.errors import BadKey, RemoteError
from mesh.kernel.subscribers.saying import WANTED_BYTES
from mesh.routing.interest import LEVEL, weight
from mesh.wire.commands import Interest, Query
from mesh.wire.frames import read, write
from mesh.wire.limits import FRAME, INTEREST_FRAME
from mesh.wire.pieces import Gatherer, cut
from tests.simulated_client import client_of
from tests.simulation import SimNetwork

MANY = 40_000  # more than one frame of ZeroMQ holds


def exact(number: int) -> Query:
    return Query("exact", f"sensors/{number}/temperature")


def test_a_query_weighs_its_text_and_the_levels_of_a_pattern() -> None:
    assert weight(Query("exact", "a/b/c", "NEWS")) == 9
    assert weight(Query("pattern", "a/+/#", "NEWS")) == 9 + 3 * LEVEL
    assert weight(Query("exact", "\N{SNOWMAN}")) == 3


def test_only_what_a_node_wants_may_be_so_long_and_only_in_pieces_of_a_node() -> None:
    interest = write(Interest(1, True, tuple(map(exact, range(MANY)))))
    assert len(interest[0]) > FRAME
    node, client = Gatherer(INTEREST_FRAME, INTEREST_FRAME), Gatherer(INTEREST_FRAME)
    (whole,) = [message for piece in cut(interest) if (message := node.add_piece(piece)) is not None]
    command, _ = read(whole)
    assert isinstance(command, Interest) and len(command.add) == MANY
    with pytest.raises(RemoteError, match="TOO_LARGE"):
        client.add_piece(next(cut(interest)))
    with pytest.raises(RemoteError, match="TOO_LARGE"):
        Gatherer(10 * INTEREST_FRAME, INTEREST_FRAME).add_piece(next(cut([b"x", bytes(FRAME + 1)])))
    with pytest.raises(RemoteError, match="FRAME_TOO_LARGE"):
        read([b"\x96\x1e" + bytes(INTEREST_FRAME)])


def greedy(start: int, count: int) -> tuple[Query, ...]:
    """Return patterns with as many levels as possible, without a common prefix."""
    levels = "/".join(["x"] * 248)
    return tuple(Query("pattern", f"{n:08}/{levels}/+", "d" * 256) for n in range(start, start + count))


@pytest.mark.slow  # for its length
def test_trial_8_a_node_that_wants_little_that_takes_much_is_refused_and_nobody_else_is_harmed() -> None:
    net = SimNetwork()
    a, b, c = net.mesh("a", "b", "c")
    heard = client_of(c).subscribed("k")
    client_of(b).subscribed("other")
    net.until(lambda: all(a.core.parts.neighbours.peers[node.uuid].exchange.feed.queries for node in (b, c)))
    peer = a.core.parts.neighbours.peers[b.uuid]
    said = (
        Interest(1, True, greedy(0, 1000)),
        Interest(2, False, greedy(1000, 1000), greedy(0, 1000)),
        Interest(3, False, greedy(2000, 2000)),
        Interest(4, True, greedy(5000, 3000)),
    )
    takes = []
    for interest in said:
        a.core.parts.wanted.interest(peer, interest)
        while peer in a.core.parts.wanted._line:
            a.core.parts.wanted.tick()
        takes.append(peer.exchange.feed.wanted_bytes)
    assert takes[:2] == [sum(map(weight, greedy(0, 1000))), sum(map(weight, greedy(1000, 1000)))]
    a._carry_out_all()
    assert a.metric("malformed") == 2 and [note for note in a.notes if "TOO_MANY_QUERIES" in note]
    assert takes[2] <= WANTED_BYTES and takes[3] <= 2 * WANTED_BYTES
    publisher = client_of(a, "pub")
    publisher.publish("k", b"1")
    net.until(lambda: heard.contents == [b"1"])


def test_trial_8_a_domain_that_cannot_be_is_wanted_by_nobody() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    peer = a.core.parts.neighbours.peers[b.uuid]
    with pytest.raises(BadKey):
        a.core.parts.wanted.interest(peer, Interest(1, True, (Query("exact", "k", "d" * 1_000_000),)))
    assert not peer.exchange.feed.queries
