"""A session of another site that sends to addresses here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mesh.wire.commands import Answer
from mesh.wire.envelope import Envelope


@dataclass(frozen=True, slots=True)
class SiteGuest:
    """A session of another site that sends to addresses here.

    The callbacks return answers and replies to that site.
    """

    stream: bytes  # its alias here
    text: str  # its name
    answer: Callable[[Answer], None]
    reply: Callable[[Envelope], None]
