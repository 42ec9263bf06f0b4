"""Frames of commands and envelopes, also of long ones and of unknown ones."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from mesh.client.core.framing import Framing
from mesh.errors import RemoteError
from mesh.wire import commands as c
from mesh.wire.envelope import Envelope
from mesh.wire.frames import body_frames, read, write
from mesh.wire.limits import FRAME, MIB, VERSION_MAX
from mesh.wire.pieces import cut
from tests.mesh.envelopes import envelope
from tools.costing.wire import WELCOME

LONG = bytes(range(256)) * (3 * MIB // 256)
LATER = [b"\x92\x63\x07", b"an envelope"]  # an unknown command: its tag is 99, its field 7
TOLD = write(c.Unknown(99, 7))


class Ends:
    """One end of a connection. The test is the other one."""

    def __init__(self, welcome: c.Welcome | None = WELCOME) -> None:
        self.put: list[list[bytes]] = []
        self.framing = Framing(self.put.append)
        if welcome is not None:
            assert self.hear(write(welcome)) == (welcome, [])

    def hear(self, frames: list[bytes], now: float = 0.0) -> tuple[c.Command, list[Envelope]] | None:
        return self.framing.read_command(now, frames)

    def taken(self) -> list[list[bytes]]:
        """Return the messages that were put on the wire since the last call."""
        put, self.put[:] = list(self.put), []
        return put


def published(content: bytes) -> tuple[c.Publish, tuple[Envelope, ...]]:
    e = envelope("k", [content])
    return c.Publish((body_frames(e),)), (e,)


def test_a_command_and_its_envelopes_become_frames_and_frames_become_them() -> None:
    ends = Ends()
    command, envelopes = published(b"short")
    ends.framing.send_command(command, envelopes)
    [frames] = ends.taken()
    assert frames == write(command, envelopes)
    assert ends.hear(frames) == (command, list(envelopes))


def test_what_cannot_be_read_is_told_to_who_asked() -> None:
    with pytest.raises(RemoteError):
        Ends().hear([b"\xc1"])


# --- long messages ------------------------------------------------------------------------------------


def test_what_is_long_leaves_in_pieces_behind_a_window_and_pings_pass_it() -> None:
    ends = Ends()
    command, envelopes = published(LONG)
    ends.framing.send_command(command, envelopes)
    ends.framing.send_command(c.Ack(7))
    ends.framing.send_command(c.Ping(1))
    begun = ends.taken()
    assert begun[-1] == write(c.Ping(1)) and write(c.Ack(7)) not in begun
    pieces, taken = begun[:-1], 0
    left = list(pieces)
    while left:
        taken += len(piece(left.pop(0)).data)
        assert ends.hear(write(c.PieceAck(taken))) is None, "it is a part of something"
        left += (more := ends.taken())
        pieces += more
        left = [frames for frames in left if is_piece(frames)]
    assert pieces.pop() == write(c.Ack(7)), "what was behind it comes after it"
    assert [piece(frames) for frames in pieces] == list(cut(write(command, envelopes)))


def is_piece(frames: list[bytes]) -> bool:
    return isinstance(read(frames)[0], c.Piece)


def piece(frames: list[bytes]) -> c.Piece:
    command, _ = read(frames)
    assert isinstance(command, c.Piece)
    return command


def test_what_comes_in_pieces_is_heard_with_the_last_and_each_is_acknowledged() -> None:
    ends = Ends()
    command, envelopes = published(LONG)
    pieces = list(cut(write(command, envelopes)))
    heard = [ends.hear(write(each)) for each in pieces]
    assert heard == [None] * (len(pieces) - 1) + [(command, list(envelopes))]
    so_far = [sum(len(each.data) for each in pieces[: n + 1]) for n in range(len(pieces))]
    assert ends.taken() == [write(c.PieceAck(taken)) for taken in so_far]


@pytest.mark.parametrize(
    "welcome", [None, replace(WELCOME, speaks=())], ids=("before it is welcome", "to who has not said so")
)
def test_nothing_travels_in_pieces_where_it_was_not_agreed(welcome: c.Welcome | None) -> None:
    ends = Ends(welcome)
    command, envelopes = published(LONG)
    ends.framing.send_command(command, envelopes)
    assert ends.taken() == [write(command, envelopes)]
    assert ends.hear(write(c.PieceAck(1))) is None
    with pytest.raises(RemoteError):
        ends.hear(write(next(cut(write(command, envelopes)))))


@pytest.mark.parametrize(
    "forged",
    [
        lambda ends: ends.hear(write(c.PieceAck(1))),
        lambda ends: ends.hear(write(c.Piece((10, FRAME + 1), b"x"))),
        lambda ends: ends.hear(write(c.Piece((), b"x"))),
    ],
    ids=("acknowledged before it was sent", "larger than any frame", "of nothing"),
)
def test_pieces_that_cannot_be_are_refused(forged: Callable[[Ends], object]) -> None:
    with pytest.raises(RemoteError):
        forged(Ends())


# --- commands of later releases -----------------------------------------------------------------------


def test_from_version_2_on_what_is_unknown_is_answered_and_nothing_else_comes_of_it() -> None:
    ends = Ends(replace(WELCOME, version=2))
    assert ends.hear(LATER) is None
    assert ends.taken() == [TOLD]


def test_what_is_unknown_is_answered_when_it_comes_in_pieces_as_well() -> None:
    ends = Ends()
    heard = [ends.hear(write(each)) for each in cut([LATER[0], *[bytes(FRAME)] * 3])]
    assert heard == [None] * len(heard) and ends.taken()[-1] == TOLD


def test_it_is_answered_ten_times_a_second_and_no_more_often() -> None:
    ends = Ends()
    for now in (10.0, 10.5, 11.0, 11.9):
        for _ in range(100):
            assert ends.hear(LATER, now) is None
    assert ends.taken() == [TOLD] * 20


@pytest.mark.parametrize(
    "welcome", [None, replace(WELCOME, version=1)], ids=("before it is welcome", "version 1")
)
def test_before_that_what_is_unknown_ends_the_connection(welcome: c.Welcome | None) -> None:
    ends = Ends(welcome)
    with pytest.raises(c.UnknownCommand):
        ends.hear(LATER)
    assert ends.taken() == []


def test_only_the_first_welcome_says_what_is_spoken() -> None:
    assert VERSION_MAX >= 2
    ends = Ends(replace(WELCOME, version=1))
    ends.hear(write(WELCOME))  # the connection would refuse it and hang up
    with pytest.raises(c.UnknownCommand):
        ends.hear(LATER)
