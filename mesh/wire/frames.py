"""Converts commands and their envelopes to the frames of one ZeroMQ message, and back."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from msgspec.structs import replace

from mesh.errors import RemoteError
from mesh.printable import count
from mesh.wire.command import Command, decode, encode
from mesh.wire.envelope import RESENT, Envelope
from mesh.wire.envelope import decode as decode_envelope
from mesh.wire.limits import CHUNK, FRAMES, MAX_CONTENT_EVER
from mesh.wire.packed import unpack_envelopes
from mesh.wire.publishing import Publish


def chunks(body: bytes) -> list[bytes]:
    """Return a body as frames of at most CHUNK bytes, usually one."""
    if len(body) <= CHUNK:
        return [body]
    return [body[at : at + CHUNK] for at in range(0, len(body), CHUNK)]


def body_frames(envelope: Envelope) -> int:
    return max(1, -(-len(envelope.body) // CHUNK))


class Framed(Protocol):
    """An envelope, or several that are packed."""

    def header(self) -> bytes: ...

    @property
    def body(self) -> bytes: ...


def write(command: Command, envelopes: Iterable[Framed] = ()) -> list[bytes]:
    frames = [encode(command)]
    for envelope in envelopes:
        frames.append(envelope.header())
        frames += chunks(envelope.body)
    return frames


def read(frames: Sequence[bytes], max_content: int = MAX_CONTENT_EVER) -> tuple[Command, list[Envelope]]:
    """Return (command, envelopes). Raises: RemoteError if the frames do not match the command.

    `max_content` applies to messages from clients. Messages from nodes may have up to MAX_CONTENT_EVER,
    because a closed connection would only make the peer resend them.
    """
    if not frames or len(frames) > FRAMES:
        raise RemoteError(f"a message has {len(frames)} frames; 1 to {FRAMES} are allowed", code="MALFORMED")
    command = decode(frames[0])
    counts = command.frame_counts()
    envelopes = []
    if counts or len(frames) > 1:
        limit = max_content if command.is_of_client else MAX_CONTENT_EVER
        envelopes = _read_envelopes(command, counts, frames, limit)
    command.check_envelopes(envelopes)
    return command, envelopes


def _read_envelopes(
    command: Command, counts: Sequence[int], frames: Sequence[bytes], limit: int
) -> list[Envelope]:
    """Return the envelopes that follow a command, of which each has a body of as many frames as `counts`."""
    if 0 in counts:
        what = f"{type(command).__name__} announces an envelope without a frame for its body"
        raise RemoteError(what, code="MALFORMED")
    if (wanted := sum(counts) + len(counts)) != len(frames) - 1:
        if sizes := command.packed_sizes():
            return unpack_envelopes(sizes, frames[1:], limit)
        what = f"{type(command).__name__} announces {count(wanted, 'frame')}; {len(frames) - 1} follow"
        raise RemoteError(what, code="MALFORMED")
    envelopes, at = [], 1
    for n in counts:
        body = frames[at + 1] if n == 1 else b"".join(frames[at + 1 : at + 1 + n])
        envelopes.append(decode_envelope(frames[at], body, limit))
        at += n + 1
    return envelopes


def resent(frames: Sequence[bytes]) -> list[bytes]:
    """Return the frames of a PUBLISH with its envelopes marked as resent to another process.

    Other messages are unchanged. Raises: RemoteError, as `read`.
    """
    command, envelopes = read(frames)
    if not isinstance(command, Publish):
        return list(frames)
    return write(command, [replace(e, flags=e.flags | RESENT) for e in envelopes])


def checked(
    command: Command, envelopes: Sequence[Envelope], max_content: int = MAX_CONTENT_EVER
) -> tuple[Command, list[Envelope]]:
    """Return the command and envelopes of a program that embeds this node, as `read` returns them.

    Raises: RemoteError for anything that `read` refuses. The program cannot change the result later:
    everything is encoded and decoded except the bodies, which are copied unless they are bytes.
    """
    try:
        if command.packed_sizes():
            return read(write(command, envelopes), max_content)
        bodies = [_unchanging(envelope.body) for envelope in envelopes]
        frames = [encode(command), *(frame for e in envelopes for frame in (e.header(), b""))]
    except (AttributeError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise RemoteError(f"a message cannot be read: {error}", code="MALFORMED") from error
    said = decode(frames[0])
    counts = [max(1, -(-len(body) // CHUNK)) for body in bodies]
    if list(said.frame_counts()) != counts:
        what = f"{type(said).__name__} does not describe the {count(len(counts), 'envelope')} behind it"
        raise RemoteError(what, code="MALFORMED")
    if 1 + len(counts) + sum(counts) > FRAMES:
        raise RemoteError(f"{type(said).__name__} has more than {FRAMES:,} frames", code="MALFORMED")
    limit = max_content if said.is_of_client else MAX_CONTENT_EVER
    headers = frames[1::2]
    read_ones = [decode_envelope(h, body, limit) for h, body in zip(headers, bodies, strict=True)]
    said.check_envelopes(read_ones)
    return said, read_ones


def _unchanging(body: object) -> bytes:
    if type(body) is bytes:
        return body
    if isinstance(body, bytes | bytearray | memoryview):
        return bytes(body)
    raise TypeError(f"a body must be bytes, not {type(body).__name__}")
