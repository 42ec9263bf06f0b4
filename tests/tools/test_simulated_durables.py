"""Is what is kept for durable subscriptions judged as what is put into queues?"""

from dataclasses import replace

import pytest

from mesh.names import PUTS, SUBS
from tests.tools.queue_cases import FACTS, S
from tests.tools.test_simulated_checks import history
from tools.simulating.checks import CHECKS
from tools.simulating.checks.durables import copy_of, with_copies
from tools.simulating.history import Event

AUDIT = PUTS + SUBS + "audit"
KEPT = Event(2.0, "durable", "boss", domain=AUDIT, keys=("a/#",))
PUB = Event(3.0, "pub", "joe", stream=S, first=1, last=1, keys=("a/x",), text="b1", flags="p")
OK = Event(3.1, "answer", "joe", stream=S, first=1, last=1, text="OK")
ACKED = Event(5.0, "says", "ann", stream=S, domain=AUDIT, first=1, sub=1, text="ack", keys=("ann",))
ENDED = Event(9.0, "fault", "boss", text="queue removed", to=AUDIT)


def broken(check: str, *events: Event) -> int:
    told = with_copies(history(tuple(sorted(events, key=lambda e: e.at))), FACTS)
    return len(CHECKS[check](told, FACTS))


@pytest.mark.parametrize(
    ("events", "found"),
    [
        ((KEPT, PUB, OK), 1),
        ((KEPT, PUB, OK, ACKED), 0),
        ((KEPT, replace(PUB, flags=""), OK), 1),  # though it is transient
        ((KEPT, PUB, replace(OK, text="STORE_FULL")), 0),
        ((KEPT, PUB), 0),
        ((replace(KEPT, at=4.0), PUB, OK), 0),
        ((KEPT, replace(PUB, keys=("b",)), OK), 0),
        ((KEPT, replace(PUB, domain="RUGBY"), replace(OK, domain="RUGBY")), 1),  # it asks for all domains
        ((replace(KEPT, text="NEWS"), PUB, OK), 0),
        ((KEPT, PUB, OK, ENDED), 0),
        ((KEPT, replace(PUB, to="/node/a/client/ann"), OK), 0),
        ((PUB, OK), 0),
    ],
)
def test_a_copy_is_owed_once_all_know_that_it_is_to_be_kept(events: tuple[Event, ...], found: int) -> None:
    assert broken("Q2", *events) == found


def test_a_copy_is_in_one_part_at_a_time() -> None:
    stream, queue, number = copy_of((S, "", 1), AUDIT)
    doubled = Event(6.0, "doubled", "", stream=stream, domain=queue, first=number, text="a, b")
    assert broken("Q1", KEPT, PUB, OK, ACKED, doubled) == 1


def test_of_a_domain_it_has_a_stream_of_its_own() -> None:
    one, other = (copy_of((S, domain, 1), AUDIT)[0] for domain in ("RUGBY", ""))
    assert one != other == S
