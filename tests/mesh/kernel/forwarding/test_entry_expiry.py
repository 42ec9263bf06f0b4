"""The expiry of the messages of a waiting entry."""

from typing import Any
from unittest.mock import Mock

import pytest
from msgspec.structs import replace

from mesh.kernel.forwarding import entry_expiry
from mesh.kernel.forwarding.entry_expiry import NEVER, EntryExpiry
from mesh.routing.forward_table import ForwardTable
from mesh.routing.pending_forward import PendingForward
from mesh.values import Hop
from mesh.wire.commands import Answer
from mesh.wire.envelope import Envelope
from tests.mesh.envelopes import envelope
from tests.mesh.origins import CLIENT

NOW = 10**18
S = 10**9
TTL = 60.0
ABROAD = "/site/LON/node/x/client/y/session/1"


class Stage:
    """Entries for frodo, which arrive NOW and may wait for TTL."""

    def __init__(self) -> None:
        self.context: Any = Mock(clock=Mock(believed=NOW, now=0.0))
        self.context.settings.tailback_ttl, self.context.me.name = TTL, "heron"
        self.onward = ForwardTable(10_000, 10_000)
        self.refused: list[tuple[int, int, str]] = []
        self.expiry = EntryExpiry(self.context, self.onward, self._refuse)
        self.wakes: list[float] = []
        self.context.clock.wake.side_effect = self.wakes.append

    def _refuse(self, entry: PendingForward, hop: str, answer: Answer) -> None:
        self.refused.append((answer.first, answer.last, answer.state))
        self.onward.settle(entry, hop, answer.first, answer.last)

    def add(self, e: Envelope, sender: str = "", to: str = "") -> PendingForward:
        entry = self.onward.add(replace(e, route=(Hop("heron", 0, NOW),), sender=sender, to=to), CLIENT, 0.0)
        self.onward.set_next_hops(entry, ("frodo",), "away")
        self.expiry.add(entry)
        return entry

    def after(self, seconds: float) -> list[tuple[int, int, str]]:
        """Return the messages that expire within `seconds` of the start."""
        self.context.clock.believed, self.refused = NOW + int(seconds * S), []
        self.expiry.tick()
        return self.refused


@pytest.mark.parametrize(
    ("own", "sender", "to", "seconds"),
    [
        (0, "", "", TTL),
        (10, "", "", 10),
        (90, "", "", TTL),
        (0, ABROAD, "client/joe", TTL),
        (10, ABROAD, "", 10),
    ],
)
def test_a_message_expires_by_its_own_time_or_that_of_the_buffer(
    own: int, sender: str, to: str, seconds: float
) -> None:
    stage = Stage()
    stage.add(envelope("k", expires=NOW + own * S if own else 0), sender, to)
    assert stage.wakes[-1] == seconds
    assert stage.after(seconds - 1) == []
    assert stage.after(seconds) == [(1, 1, "EXPIRED")]
    assert len(stage.onward) == 0 and stage.after(1000) == []


def test_what_another_site_keeps_never_expires_here() -> None:
    stage = Stage()
    stage.add(envelope("k"), ABROAD)
    assert stage.after(10**6) == [] and stage.expiry._due[0][0] == NEVER


def test_what_is_in_flight_does_not_expire_until_it_waits_again() -> None:
    stage = Stage()
    stage.add(envelope("a b"))
    assert len([*stage.onward.next_to_send("frodo")]) == 1
    assert stage.after(TTL) == []
    stage.onward.requeue_in_flight("frodo")
    assert stage.after(TTL + 1) == [(1, 2, "EXPIRED")], "after a retry"


def test_the_due_times_of_entries_that_are_gone_are_thrown_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entry_expiry, "FEW_DUE", 4)
    stage = Stage()
    stage.expiry._many_due = 4
    for n in range(1, 50):
        stage.onward.remove_entry(stage.add(envelope("k", first=n)))
        assert len(stage.expiry._due) <= 4
