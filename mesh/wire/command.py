"""Commands: the first frame of every message, as typed values.

A command is an array `[kind, field, …]`. A new field is appended and has a default, so that an older peer
ignores it and a newer one fills it in. `python -m tools.wire_tables` copies the docstrings to docs/wire.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar, TypeVar

import msgspec

from mesh.discovery.state import Natural
from mesh.errors import RemoteError
from mesh.wire.codec import check_plain, malformed, reader
from mesh.wire.envelope import Envelope
from mesh.wire.limits import CONTROL_FRAME, FRAME

SECRETS = ("passwd", "token")
FIELD = 64  # bytes of an unknown command's first field in UNKNOWN
_LONG_ARRAY = b"\xdc"  # begins an array of more than 15 fields

Checks = tuple[tuple[str, Callable[[Any], None]], ...]  # fields, and functions that raise ValueError


class Command(msgspec.Struct, frozen=True, array_like=True, tag_field="kind"):
    """Base of all commands.

    A frame of more than `limit` bytes is refused unread. `checks` apply to decoded fields.
    """

    word: ClassVar[str] = ""  # feature that the receiver must have
    limit: ClassVar[int] = CONTROL_FRAME
    checks: ClassVar[Checks] = ()
    is_of_client: ClassVar[bool] = False  # whether its bodies have the limit of messages of clients

    def __repr__(self) -> str:
        # Credentials must not appear in a log or a traceback.
        shown = (f"{name}={getattr(self, name)!r}" for name in self.__struct_fields__ if name not in SECRETS)
        return f"{type(self).__name__}({', '.join(shown)})"

    def frame_counts(self) -> Sequence[int]:
        """Return, for each envelope that follows, the number of frames of its body."""
        return ()

    def packed_sizes(self) -> Sequence[int]:
        """Return the size of each body that follows in packed form: see packed.py."""
        return ()

    def check_envelopes(self, envelopes: Sequence[Envelope]) -> None:
        """Check the envelopes against the columns of the command. Raises: RemoteError."""


C = TypeVar("C", bound=Command)
Reader = Callable[[bytes], Command]
COMMANDS: dict[int, type[Command]] = {}  # by tag


def command(kind: type[C]) -> type[C]:
    """Register a class of commands, so that their frames can be read. Raises: ValueError for a bad tag."""
    tag = kind.__struct_config__.tag
    if not isinstance(tag, int) or not 0 < tag < 128:
        raise ValueError(f"{kind.__name__} has the tag {tag!r}, which is not in 1..127")
    if tag in COMMANDS:
        raise ValueError(f"{kind.__name__} has the tag {tag} of {COMMANDS[tag].__name__}")
    COMMANDS[tag] = kind
    read: Reader = reader(kind, kind.limit)
    _readers[bytes((tag,))] = partial(_checked, read, kind.checks) if kind.checks else read
    return kind


class UnknownCommand(RemoteError):
    """A command that a later release may know: its tag, and its first field, if that is small and plain."""

    def __init__(self, tag: int, field: Any) -> None:
        super().__init__(f"no command has the tag {tag}", code="MALFORMED")
        self.tag = tag
        self.field = field


class _Strange(msgspec.Struct, array_like=True):
    tag: Natural
    field: msgspec.Raw = msgspec.Raw(b"\xc0")


def _checked(read: Reader, checks: Checks, frame: bytes) -> Command:
    found = read(frame)
    try:
        for field, check in checks:
            check(getattr(found, field))
    except ValueError as error:
        raise malformed(frame, error) from error
    return found


class _Readers(dict[bytes, Reader]):
    """The readers of commands by the tag byte. A frame with any other tag is read by `_strange`."""

    def __missing__(self, tag: bytes) -> Reader:
        return _strange


_read_strange = reader(_Strange, FRAME)
_read_field = reader(object, FIELD)
_readers = _Readers()


def _strange(frame: bytes) -> Command:
    """Decode a command whose tag is not at the usual place. Raises: UnknownCommand for an unknown tag."""
    strange = _read_strange(frame)
    if strange.tag in COMMANDS:
        return _readers[bytes((strange.tag,))](frame)
    raise UnknownCommand(strange.tag, _plain(bytes(strange.field)))


def _plain(raw: bytes) -> Any:
    """Return the value that `raw` encodes, or None if it is too large or not plain."""
    try:
        value = _read_field(raw)
        check_plain(value)
    except (RemoteError, ValueError):
        return None
    return value


def _bare(value: Any) -> str:
    """Return a text of a subclass of str, such as numpy's, as a plain str. Raises: TypeError."""
    if isinstance(value, str):
        return str.__str__(value)
    raise TypeError(f"a value of type {type(value).__name__} is not allowed")


# Encodes a command as the first frame of a message.
encode: Callable[[Command], bytes] = msgspec.msgpack.Encoder(enc_hook=_bare).encode


def decode(frame: bytes) -> Command:
    """Return the command in a first frame.

    Raises: UnknownCommand if a later release may have a command of that tag; otherwise RemoteError.
    """
    tag = frame[3:4] if frame[:1] == _LONG_ARRAY else frame[1:2]
    return _readers[tag](frame)
