"""The frames of a message: they fit together, and forbidden messages are refused."""

import msgpack
import pytest

from mesh.errors import RemoteError
from mesh.features.queues.wire import Transfer
from mesh.wire import commands as c
from mesh.wire.envelope import Envelope
from mesh.wire.frames import body_frames, checked, read, write
from mesh.wire.limits import CHUNK, FRAME, FRAMES, MAX_CONTENT_EVER, MIB
from tools.models.messages import COMMANDS, ITEM, STREAM, Sent, gathered

SMALL = gathered([Sent(1, "a", b"", b"x"), Sent(2, "b", b"", b"yy"), Sent(3, "a", b"", b"zzz")])


def sized(size: int) -> Envelope:
    """Return an envelope with one message of `size` bytes."""
    return Envelope(
        stream=STREAM, domain="", first=1, last=1, keys=("k",), count=1, sizes=size, body=bytes(size)
    )


def refusal(frames: list[bytes], max_content: int = MIB) -> str:
    with pytest.raises(RemoteError) as error:
        read(frames, max_content)
    return error.value.code


@pytest.mark.parametrize(
    ("size", "frames"),
    [(0, 1), (1, 1), (CHUNK - 1, 1), (CHUNK, 1), (CHUNK + 1, 2), (2 * CHUNK, 2), (MAX_CONTENT_EVER, 64)],
)
def test_a_body_travels_in_chunks_of_1_mib(size: int, frames: int) -> None:
    envelope = sized(size)
    written = write(c.Publish((body_frames(envelope),)), [envelope])
    assert len(written) == 2 + frames == 2 + body_frames(envelope)
    assert all(len(chunk) == CHUNK for chunk in written[2:-1]) and len(written[-1]) <= CHUNK < FRAME
    assert read(written) == (c.Publish((frames,)), [envelope])


def test_chunks_of_another_size_are_joined_likewise() -> None:
    command, header, body = write(c.Publish((1,)), [SMALL])
    for cut in range(len(body) + 1):
        assert read([c.encode(c.Publish((2,))), header, body[:cut], body[cut:]])[1] == [SMALL]
    assert read([command, header, body])[1] == [SMALL]


def test_several_envelopes_travel_in_one_message() -> None:
    envelopes = [sized(0), SMALL, sized(CHUNK + 1), SMALL]
    command = c.Publish(tuple(map(body_frames, envelopes)))
    assert read(write(command, envelopes), 2 * MIB) == (command, envelopes)


def test_one_frame_too_many_for_a_message_is_malformed() -> None:
    most = (FRAMES - 1) // 2
    assert len(read(write(c.Publish((1,) * most), [SMALL] * most))[1]) == most
    assert refusal(write(c.Publish((1,) * (most + 1)), [SMALL] * (most + 1))) == "MALFORMED"
    assert refusal([]) == "MALFORMED"


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: type(command).__name__)
def test_frames_that_a_command_does_not_announce_are_malformed(command: c.Command) -> None:
    frames = write(command, [SMALL] * 5)
    assert refusal(frames) == "MALFORMED"


@pytest.mark.parametrize("counts", [(), (0,), (2,), (1, 1), (0, 1), (2, 0), (2**63 - 1,), (-1, 3)])
def test_a_count_that_does_not_fit_the_frames_is_malformed(counts: tuple[int, ...]) -> None:
    frames = write(c.Publish(()), [SMALL])
    for first in ([20, counts], [24, counts], [22, 1, [[n] for n in counts]], [35, 1, None, "", "", counts]):
        assert refusal([msgpack.packb(first), *frames[1:]]) == "MALFORMED"


def test_an_empty_body_takes_a_frame_nonetheless() -> None:
    assert len(write(c.Publish((1,)), [sized(0)])) == 3
    assert refusal([c.encode(c.Publish((0,))), sized(0).header()]) == "MALFORMED"


def test_header_and_body_in_the_wrong_order_are_malformed() -> None:
    command, header, body = write(c.Publish((1,)), [SMALL])
    assert refusal([command, body, header]) == "MALFORMED"
    assert refusal([header, command, body]) == "MALFORMED"


def test_content_above_the_limit_of_a_publisher_is_refused_by_name() -> None:
    assert refusal(write(c.Publish((2,)), [sized(MIB + 1)])) == "TOO_LARGE"
    assert read(write(c.Publish((1,)), [sized(MIB)]), MIB)[1] == [sized(MIB)]


def test_what_another_node_has_taken_passes_though_it_is_larger_than_this_one_takes() -> None:
    large = sized(MIB + 1)
    assert read(write(c.Items(1, (c.ItemHead(2),)), [large]), MIB)[1] == [large]
    assert read(write(c.Reply(1, frames=(2,)), [large]), MIB)[1] == [large]
    assert read(write(c.Forward((2,)), [large]), MIB)[1] == [large]


@pytest.mark.parametrize("column", [b"\x00", b"\x03\x00", b"\x00\x00\x02\x00\xff\xff", b"\x00\x00\x00"])
def test_indices_that_an_envelope_does_not_have_are_malformed(column: bytes) -> None:
    head = c.ItemHead(1, targets=((1, b""), (7, column)))
    assert refusal(write(c.Items(1, (head,)), [SMALL])) == "MALFORMED"


@pytest.mark.parametrize(
    ("targets", "tries"),
    [
        ((), b"\0"), (((1, b""),), b"\0"), (((1, b""),), b"\0" * 4), (((1, b"\0\0"),), b"\0\1\2"),
        (((1, b"\0\0"), (2, b"\1\0")), b"\0"), (((1, b"\0\0"), (2, b"\1\0")), b"\0\1"),
    ],
)  # fmt: skip
def test_tries_of_other_messages_than_are_named_are_malformed(
    targets: tuple[tuple[int, bytes], ...], tries: bytes
) -> None:
    items = c.Items(1, (c.ItemHead(1, targets=targets, tries=tries),))
    assert refusal(write(items, [SMALL])) == "MALFORMED"
    with pytest.raises(RemoteError, match="MALFORMED"):
        checked(items, [SMALL])


@pytest.mark.parametrize(("column", "tries"), [(b"", b"\0\1\2"), (b"\0\0\2\0", b"\0\xff"), (b"", b"")])
def test_tries_are_those_of_the_messages_that_are_named(column: bytes, tries: bytes) -> None:
    items = c.Items(1, (c.ItemHead(1, targets=((1, column),), tries=tries),))
    assert read(write(items, [SMALL]))[0] == items == checked(items, [SMALL])[0]


def test_an_item_names_its_subscriptions_with_their_indices() -> None:
    command = c.Items(7, (ITEM,))
    assert read(write(command, [SMALL])) == (command, [SMALL])


@pytest.mark.parametrize("column", [b"", b"\1\0\0\1", b"\1\0", b"\1\0\0\0\0\0"])
def test_what_is_said_of_messages_that_move_is_of_as_many_as_there_are(column: bytes) -> None:
    envelope = gathered([Sent(1, "k", b"", b"a"), Sent(2, "k", b"", b"b")])
    command = Transfer("jobs", 1, (1,), ((1, False, 1, column),))
    if len(column) in (0, 4):
        assert read(write(command, [envelope]))[0] == command
    else:
        with pytest.raises(RemoteError):
            read(write(command, [envelope]))
    with pytest.raises(RemoteError):
        read(write(Transfer("jobs", 1, (1, 1), ((1, False, 1, b""),)), [envelope, envelope]))
