"""The resume of one master's log for one subscription: its next question, and the check of its pages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from msgspec.structs import replace

from mesh.errors import RemoteError
from mesh.kernel.subscribers.session import Session
from mesh.routing.feed import Feed
from mesh.wire.calls import AskRefill, AskResume, ResumeRow
from mesh.wire.envelope import Envelope
from mesh.wire.replies import Refilled, ResumedPage


@dataclass(slots=True, eq=False)
class Pull:
    """The resume of one master's log for one subscription."""

    session: Session
    feed: Feed
    master: bytes
    head: AskResume  # of each question: about the session
    ask: ResumeRow  # the next question
    id: bytes  # `source` of its envelopes
    is_started: bool = False
    is_asking: bool = False
    is_ended: bool = False
    again_at: float = 0.0  # when a failed question may be repeated
    open: dict[int, None] = field(default_factory=dict)  # positions that the client has not acknowledged

    @property
    def is_confirmed(self) -> bool:
        """True if the master has pinned its log."""
        return self.ask.end > 0

    @property
    def is_complete(self) -> bool:
        """True if all pages have arrived."""
        return self.is_confirmed and self.ask.at > self.ask.end

    @property
    def is_read(self) -> bool:
        """True if all pages have arrived, and the client has acknowledged them."""
        return self.is_complete and not self.open

    @property
    def can_ask(self) -> bool:
        """True if a question may be sent: none is open, and the client's answers are not awaited."""
        awaits_client = self.is_complete and bool(self.open)
        return self.is_started and not (self.is_asking or self.is_ended or awaits_client)

    @property
    def done(self) -> int:
        """The position up to which the client has everything."""
        return acknowledged_up_to(self.open, self.ask.at)

    def turn_page(self, value: ResumedPage) -> None:
        """Let the next question ask for the page after `value`."""
        self.ask = replace(self.ask, end=value.end, at=value.next)

    def begin_anew(self, number: int) -> None:
        """Let the next question ask for a new pin with this number, from the client's position on."""
        self.ask = replace(self.ask, at=self.done + 1, end=0, done=0, number=number)

    def ask_release(self) -> None:
        """Let the next question report that the client has everything, so that the master ends the pin."""
        self.ask = replace(self.ask, at=self.ask.end + 1, done=self.ask.end)


def acknowledged_up_to(unacknowledged: Iterable[int], following: int) -> int:
    """Return the position up to which the client has everything.

    `unacknowledged` has the positions that it lacks, in order; `following` is the first one not yet sent.
    """
    return next(iter(unacknowledged), following) - 1


def check_page(
    ask: ResumeRow | AskRefill, value: ResumedPage | Refilled, envelopes: Sequence[Envelope]
) -> None:
    """Raise RemoteError for a page that no correct master sends."""
    places = [ask.at - 1, *value.positions, max(value.next, 1)]
    is_ordered = all(a < b for a, b in pairwise(places))
    is_within = not ask.end or value.end == ask.end
    is_sound = len(value.positions) == len(envelopes) and value.end > 0 and value.next <= value.end + 1
    if not (is_ordered and is_within and is_sound) or any(e.to or not e.persistent for e in envelopes):
        raise RemoteError("a page of a resumed log is malformed", code="MALFORMED")
