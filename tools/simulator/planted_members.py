"""Planted bugs in the membership of nodes."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

from mesh.discovery.detector import Detector
from mesh.discovery.rumor_evidence import RumorEvidence
from mesh.discovery.table import weigh
from mesh.kernel.access import connection_proofs

Patch = tuple[Any, str, Any]


def never_suspects() -> list[Patch]:
    return [
        (Detector, "_unanswered", lambda self, number, now: self._questions.pop(number) and []),
        (Detector, "refused", lambda self, record, now: []),
    ]


def disconnect_is_death() -> list[Patch]:
    return [
        (Detector, "probe_disconnected", lambda self, record, now: self._fates.die(record, record.uuid, now))
    ]


def older_word_counts() -> list[Patch]:
    about = RumorEvidence._about

    def believes(self: Any, rumour: Any, by: bytes, now: float) -> Any:
        record = self._table.records.get(rumour.node.uuid)
        if record is not None and record.is_living and weigh(rumour) < record.weight:
            record.weight = weigh(rumour)
            return self._news_of(record, rumour, now)
        return about(self, rumour, by, now)

    return [(RumorEvidence, "_about", believes)]


def anybody_may_come() -> list[Patch]:
    return [(connection_proofs, "same", lambda one, other: True)]


# Profile, seed, broken law, patches and seconds by the name of the bug.
MEMBERS: dict[str, tuple[str, int, str, Callable[[], list[Patch]], float]] = {
    "who does not answer is not suspected": ("membership", 5, "M1", never_suspects, inf),
    "who is disconnected is dead": ("membership", 8, "M2", disconnect_is_death, 55.0),
    "an older word overrides a newer one": ("membership", 0, "M3", older_word_counts, 130.0),
    "whoever comes may stay": ("short", 7, "M5", anybody_may_come, inf),
}
