"""One question that somebody puts by a Call, and the way of its answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Generic, TypeVar

from mesh.core.desk.conn import NODE, Conn
from mesh.errors import LocalError
from mesh.wire.calls import Ask
from mesh.wire.commands import Reply
from mesh.wire.envelope import Envelope
from mesh.wire.frames import body_frames
from mesh.wire.replies import ReplyValue

A = TypeVar("A", bound=Ask)
SendReply = Callable[[Reply, Sequence[Envelope]], None]


@dataclass(frozen=True, slots=True)
class Inquiry(Generic[A]):
    """A question that has been read. It is answered now or later, by `say` or `fail`."""

    ask: A
    request: int
    who: Any  # the Session of a client, or a Peer
    conn: Conn  # on which it came
    _send: SendReply

    def say(self, value: ReplyValue, envelopes: Sequence[Envelope] = ()) -> None:
        """The answer, or a part of it."""
        self._send(Reply(self.request, value, frames=tuple(map(body_frames, envelopes))), envelopes)

    def fail(self, error: LocalError) -> None:
        """A refusal."""
        self._send(Reply(self.request, code=error.code, text=str(error)), ())

    @property
    def doer(self) -> str:
        """The client that asks, for an event: its name, and the key by which it came in."""
        if self.conn.user:
            return f"{self.who.text} (key {self.conn.user})"
        if self.conn.trusted:
            return f"{self.who.text} (no key: over the local socket)"
        return f"{self.who.text} (no key: stream {self.who.stream.hex()})"

    def check_keys(self) -> None:
        """LocalError for a client that does not have the keys of a node."""
        if self.conn.grant != NODE:
            what = f"{self.ask.verb!r} is for those who have the keys of a node."
            raise LocalError(what, hint="Type it on the machine of the node.", code="NOT_ALLOWED")


class Right(StrEnum):
    """The right that a client needs for a verb. Other nodes may do all that they can ask for."""

    READ = "read"
    WRITE = "write"
    RUN = "run"  # the node: for those who have the keys of one


@dataclass(frozen=True, slots=True)
class Verb:
    """Something that may be asked for by a Call; `then` answers it."""

    asks: type[Ask]
    then: Callable[[Inquiry[Any]], None]
    right: Right = Right.READ

    @property
    def name(self) -> str:
        """As it stands in the Call."""
        return self.asks.verb


def answer(asks: type[A], then: Callable[[Inquiry[A]], None], right: Right = Right.READ) -> Verb:
    """A part's wish to be given questions of that kind. LocalError of `then`: it makes no sense."""
    return Verb(asks, then, right)
