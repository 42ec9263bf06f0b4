"""A question received in a CALL, and how a component answers it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Generic, TypeVar

from mesh.errors import LocalError
from mesh.kernel.context.conn import NODE, Conn
from mesh.wire.calls import Ask
from mesh.wire.commands import Reply
from mesh.wire.envelope import Envelope
from mesh.wire.frames import body_frames
from mesh.wire.replies import ReplyValue

A = TypeVar("A", bound=Ask)
SendReply = Callable[[Reply, Sequence[Envelope]], None]


@dataclass(frozen=True, slots=True)
class IncomingCall(Generic[A]):
    """A decoded question, which a component answers with `reply` or `fail`, now or later."""

    ask: A
    request: int
    who: Any  # the Session of a client, or a Peer
    conn: Conn  # connection of the question
    _send: SendReply

    def reply(self, value: ReplyValue, envelopes: Sequence[Envelope] = ()) -> None:
        """Send the answer, or one part of it."""
        self._send(Reply(self.request, value, frames=tuple(map(body_frames, envelopes))), envelopes)

    def fail(self, error: LocalError) -> None:
        self._send(Reply(self.request, code=error.code, text=str(error)), ())

    @property
    def doer(self) -> str:
        """The name of the requesting client for events, with its key or a note that it has none."""
        if self.conn.user:
            return f"{self.who.text} (key {self.conn.user})"
        if self.conn.trusted:
            return f"{self.who.text} (no key: over the local socket)"
        return f"{self.who.text} (no key: stream {self.who.stream.hex()})"

    def check_keys(self) -> None:
        """Raise LocalError if the client does not have the keys of a node."""
        if self.conn.grant != NODE:
            grant = self.conn.grant
            what = f"{self.ask.verb!r} requires the keys of a node, but this client has those of a {grant}."
            hint = "Run the command on the machine of the node, as the user of the node."
            raise LocalError(what, hint=hint, code="NOT_ALLOWED")


class Right(StrEnum):
    """The right that a client needs for a verb.

    Peers need no right: they may call each of the `peer_verbs`.
    """

    READ = "read"
    WRITE = "write"
    RUN = "run"  # operate the node; needs a node's keys


@dataclass(frozen=True, slots=True)
class Verb:
    """A kind of question that a CALL may ask; `then` answers it."""

    asks: type[Ask]
    then: Callable[[IncomingCall[Any]], None]
    right: Right = Right.READ

    @property
    def name(self) -> str:
        return self.asks.verb


def answer(asks: type[A], then: Callable[[IncomingCall[A]], None], right: Right = Right.READ) -> Verb:
    """Return the verb with which a component answers a class of questions.

    `then` may raise LocalError, which is sent as the answer.
    """
    return Verb(asks, then, right)
