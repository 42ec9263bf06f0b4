"""Converts commands and their envelopes to the frames of one ZeroMQ message, and back."""

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from mesh.errors import RemoteError
from mesh.wire.commands import (
    AnyCommand,
    Command,
    Forward,
    ItemHead,
    Items,
    Publish,
    Relay,
    Reply,
    Respond,
    Sends,
    Settle,
    Transfer,
    decode,
    encode,
)
from mesh.wire.envelope import RESENT, Envelope
from mesh.wire.envelope import decode as decode_envelope
from mesh.wire.header import u16
from mesh.wire.limits import CHUNK, FRAMES, MAX_CONTENT_EVER

WITH_FRAMES = (Publish, Reply, Forward, Sends, Respond, Settle, Transfer, Relay)
WITH_COLUMNS = (Items, Transfer)  # with columns about each message
FROM_CLIENTS = (Publish, Settle)


def chunks(body: bytes) -> list[bytes]:
    """Return a body as frames of at most CHUNK bytes, usually one."""
    if len(body) <= CHUNK:
        return [body]
    return [body[at : at + CHUNK] for at in range(0, len(body), CHUNK)]


def body_frames(envelope: Envelope) -> int:
    return max(1, -(-len(envelope.body) // CHUNK))


def write(command: Command, envelopes: Iterable[Envelope] = ()) -> list[bytes]:
    frames = [encode(command)]
    for envelope in envelopes:
        frames.append(envelope.header())
        frames += chunks(envelope.body)
    return frames


def read(frames: Sequence[bytes], max_content: int = MAX_CONTENT_EVER) -> tuple[AnyCommand, list[Envelope]]:
    """Return (command, envelopes). Raises: RemoteError if the frames are not as the command announces.

    `max_content` applies to messages from clients. Those from other nodes may have up to MAX_CONTENT_EVER,
    because a closed connection would only make the peer resend them.
    """
    if not frames or len(frames) > FRAMES:
        raise RemoteError(f"message of {len(frames)} frames; 1 to {FRAMES} are allowed", code="MALFORMED")
    command = decode(frames[0])
    counts = _counts(command)
    if sum(counts) + len(counts) + 1 != len(frames) or 0 in counts:
        raise RemoteError(
            f"{type(command).__name__} announces {len(counts)} envelopes; {len(frames) - 1} frames follow",
            code="MALFORMED",
        )
    limit = max_content if isinstance(command, FROM_CLIENTS) else MAX_CONTENT_EVER
    envelopes, at = [], 1
    for n in counts:
        body = frames[at + 1] if n == 1 else b"".join(frames[at + 1 : at + 1 + n])
        envelopes.append(decode_envelope(frames[at], body, limit))
        at += n + 1
    if isinstance(command, WITH_COLUMNS):
        if isinstance(command, Items):
            for head, envelope in zip(command.heads, envelopes, strict=True):
                _check_targets(head, envelope.count)
        else:
            _check_moving(command, envelopes)
    return command, envelopes


def resent(frames: Sequence[bytes]) -> list[bytes]:
    """Return the frames of a PUBLISH as its client resends them to another process.

    Other messages are unchanged. Raises: RemoteError, as `read`.
    """
    command, envelopes = read(frames)
    if not isinstance(command, Publish):
        return list(frames)
    return write(command, [replace(e, flags=e.flags | RESENT) for e in envelopes])


def checked(
    command: Command, envelopes: Sequence[Envelope], max_content: int = MAX_CONTENT_EVER
) -> tuple[AnyCommand, list[Envelope]]:
    """Return the command and envelopes of a program that embeds this node, as `read` returns them.

    Raises: RemoteError for anything that `read` refuses. The program cannot change the result later:
    everything is encoded and decoded except the bodies, which are copied unless they are bytes.
    """
    try:
        bodies = [_unchanging(envelope.body) for envelope in envelopes]
        frames = [encode(command), *(frame for e in envelopes for frame in (e.header(), b""))]
    except (AttributeError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise RemoteError(f"an unreadable message: {error}", code="MALFORMED") from error
    said = decode(frames[0])
    counts = [max(1, -(-len(body) // CHUNK)) for body in bodies]
    if list(_counts(said)) != counts or 1 + len(counts) + sum(counts) > FRAMES:
        raise RemoteError(
            f"{type(said).__name__} does not describe the {len(counts)} envelopes that follow",
            code="MALFORMED",
        )
    limit = max_content if isinstance(said, FROM_CLIENTS) else MAX_CONTENT_EVER
    headers = frames[1::2]
    read_ones = [decode_envelope(h, body, limit) for h, body in zip(headers, bodies, strict=True)]
    if isinstance(said, Items):
        for head, envelope in zip(said.heads, read_ones, strict=True):
            _check_targets(head, envelope.count)
    return said, read_ones


def _unchanging(body: object) -> bytes:
    if type(body) is bytes:
        return body
    if isinstance(body, bytes | bytearray | memoryview):
        return bytes(body)
    raise TypeError(f"a body is bytes, not {type(body).__name__}")


def _counts(command: AnyCommand) -> Sequence[int]:
    if isinstance(command, WITH_FRAMES):
        return command.frames
    if isinstance(command, Items):
        return [head.frames for head in command.heads]
    return ()


def _check_moving(command: Transfer, envelopes: Sequence[Envelope]) -> None:
    told = [len(tries) // 2 for *_, tries in command.entries]
    counts = [envelope.count for envelope in envelopes]
    if len(told) != len(counts) or any(n and n != count for n, count in zip(told, counts, strict=True)):
        raise RemoteError("the delivery counts do not match the moved messages", code="MALFORMED")


def _check_targets(head: ItemHead, count: int) -> None:
    for subscription, column in head.targets:
        if len(column) % 2 or max(u16(column), default=0) >= count:
            raise RemoteError(
                f"the indices for subscription {subscription} do not fit {count} messages", code="MALFORMED"
            )
    if head.tries:
        _check_tries(head, count)


def _check_tries(head: ItemHead, count: int) -> None:
    named = [len(column) // 2 or count for _, column in head.targets]
    if named != [len(head.tries)]:
        raise RemoteError(
            f"{len(head.tries)} messages have delivery counts; the targets name {named}", code="MALFORMED"
        )
