"""Messages in pieces: they arrive whole and in order, within a window, and false sizes are refused."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.errors import RemoteError
from mesh.wire import commands as c
from mesh.wire.commands import Piece, PieceAck, decode, encode
from mesh.wire.limits import CHUNK, FRAME, FRAMES, MIB, PIECE, PIECES_WINDOW, WHOLE
from mesh.wire.pieces import Cutter, Gatherer, cut

MOST = 64 * CHUNK
PING = [encode(c.Ping(1))]
SMALL = [encode(c.Publish((1,))), b"header", b"body"]


def large(chunks: int = 4, letter: bytes = b"a") -> list[bytes]:
    return [encode(c.Publish((chunks,))), b"header", *(letter * CHUNK for _ in range(chunks))]


class Line:
    """A connection: both ends, and the messages in transit."""

    def __init__(self) -> None:
        self.cutter, self.gatherer = Cutter(), Gatherer(MOST)
        self.between: list[list[bytes]] = []
        self.arrived: list[list[bytes]] = []

    def send(self, message: list[bytes]) -> None:
        self.between += self.cutter.cut(message)

    @property
    def under_way(self) -> int:
        pieces = [decode(m[0]) for m in self.between if len(m) == 1]
        return sum(len(p.data) for p in pieces if isinstance(p, Piece))

    def step(self) -> None:
        """Deliver the oldest message, and return its acknowledgement."""
        message = self.between.pop(0)
        said = decode(message[0])
        if not isinstance(said, Piece):
            self.arrived.append(message)
            return
        whole = self.gatherer.add_piece(said)
        if whole is not None:
            self.arrived.append(whole)
        self.between += self.cutter.on_acked(self.gatherer.taken)

    def run(self) -> list[list[bytes]]:
        while self.between:
            self.step()
        return self.arrived


def test_a_short_message_travels_as_it_is() -> None:
    line = Line()
    line.send(SMALL)
    assert line.between == [SMALL] and not line.cutter.is_busy
    exactly = [bytes(WHOLE // 2), bytes(WHOLE // 2)]
    line.send(exactly)
    assert line.between[-1] is exactly


def test_trial_B2_a_long_message_arrives_whole_behind_a_small_window() -> None:
    line, message = Line(), large(20)
    line.send(message)
    while line.between:
        assert line.under_way <= PIECES_WINDOW + PIECE
        assert all(sum(map(len, m)) <= PIECE + 1024 for m in line.between)
        line.step()
    assert line.arrived == [message]
    assert not line.cutter.is_busy and line.gatherer.held == 0
    assert line.gatherer.taken == sum(map(len, message))


def test_trial_B2_pings_pass_between_the_pieces_and_all_else_keeps_its_order() -> None:
    line = Line()
    first, second = large(5), large(3, b"b")
    for message in (first, SMALL, second, [encode(c.Ack(1))]):
        line.send(message)
    line.send(PING)
    assert line.between[-1] == PING
    arrived = line.run()
    assert [m for m in arrived if m != PING] == [first, SMALL, second, [encode(c.Ack(1))]]
    assert arrived[0] == PING
    line.send(SMALL)
    assert line.between == [SMALL]


@pytest.mark.parametrize(
    "command", [c.Ping(1), c.Pong(1), PieceAck(1), c.Bye("done"), c.Refuse("A", "b"), c.Who()]
)
def test_what_passes_does_not_wait(command: c.Command) -> None:
    cutter = Cutter()
    cutter.cut(large(9))
    assert cutter.is_busy and cutter.cut([encode(command)]) == [[encode(command)]]


@given(
    sizes=st.lists(st.integers(0, 3 * PIECE), min_size=1, max_size=12),
    letter=st.binary(min_size=1, max_size=1),
)
def test_any_frames_come_out_as_they_went_in(sizes: list[int], letter: bytes) -> None:
    message = [encode(c.Publish(())), *(letter * size for size in sizes)]
    gatherer = Gatherer(MOST)
    pieces = list(cut(message))
    assert all(gatherer.add_piece(piece) is None for piece in pieces[:-1])
    assert gatherer.add_piece(pieces[-1]) == message
    assert [bool(piece.sizes) for piece in pieces] == [True] + [False] * (len(pieces) - 1)


def test_a_piece_is_short_enough_for_the_wire() -> None:
    widest = encode(Piece(tuple([FRAME] * FRAMES), bytes(PIECE)))
    assert decode(widest) == Piece(tuple([FRAME] * FRAMES), bytes(PIECE)) and len(widest) < FRAME


LIES: dict[str, list[Piece]] = {
    "more than announced": [Piece((10,), b"x" * 11)],
    "more than announced, later": [Piece((10,), b"x" * 9), Piece((), b"xx")],
    "no beginning": [Piece((), b"x")],
    "a second beginning": [Piece((10,), b"x"), Piece((10,), b"x")],
    "nothing in it": [Piece((10,), b"")],
    "nothing more in it": [Piece((10,), b"x"), Piece((), b"")],
    "nothing announced": [Piece((0,), b"x")],
    "too large a frame": [Piece((FRAME + 1,), b"x")],
    "too much together": [Piece((FRAME,) * 64, b"x")],
    "too many frames": [Piece((1,) * (FRAMES + 1), b"x")],
    "a size that no memory has": [Piece((2**63 - 1,), b"x")],
    "a piece in pieces": [Piece((len(encode(Piece((1,), b"x"))),), encode(Piece((1,), b"x")))],
}


@pytest.mark.parametrize("name", LIES)
def test_trial_B2_the_sizes_of_a_liar_are_refused(name: str) -> None:
    gatherer = Gatherer(MOST)
    *before, last = LIES[name]
    for piece in before:
        assert gatherer.add_piece(piece) is None
    with pytest.raises(RemoteError) as caught:
        gatherer.add_piece(last)
    assert caught.value.code in ("MALFORMED", "TOO_LARGE")


def test_an_acknowledgement_of_what_was_never_sent_is_refused_and_an_old_one_changes_nothing() -> None:
    cutter = Cutter()
    sent = PIECE * len(cutter.cut(large(9)))
    assert cutter.on_acked(PIECE) and not cutter.on_acked(0)
    with pytest.raises(RemoteError):
        cutter.on_acked(sent + 2 * PIECE)


def test_trial_9_small_pieces_take_no_more_memory_than_large_ones() -> None:
    """Pieces can have two bytes each. A list of them would take thirty times as much memory."""
    size, step = MIB // 64, 2
    gatherer = Gatherer(MOST)
    gatherer.add_piece(Piece((size,), b"ab"))
    tracemalloc.start()
    for _ in range(size // step - 2):
        gatherer.add_piece(Piece((), bytes(step)))
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert gatherer.held == size - step and held < 1.5 * size
