"""Durable subscriptions: their messages are judged by the laws of queues."""

from dataclasses import replace

import pytest

from mesh.names import PUTS, SUBS
from tests.tools.queue_cases import FACTS, S
from tests.tools.simulator.checks.test_checks import history
from tools.simulator.checks import CHECKS
from tools.simulator.checks.durables import copy_of, with_copies
from tools.simulator.history import Event
from tools.simulator.profiles import PROFILES
from tools.simulator.script import with_steps
from tools.simulator.stage.stage import Stage
from tools.simulator.writing import written

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
        ((KEPT, replace(PUB, domain="RUGBY"), replace(OK, domain="RUGBY")), 1),  # it has all domains
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


def accepted(at: float, who: str) -> Event:
    return Event(at, "accept", who, stream=S, first=1, last=1)


def given(at: float, who: str, tries: int = 1) -> Event:
    to = f"/node/{who}/client/ann/session/1"
    return Event(at, "gives", who, stream=S, domain=AUDIT, first=1, sub=1, to=to, gap=tries, keys=("",))


SETTLED = replace(ACKED, at=5.1, kind="settled")
CRASH = Event(3.5, "crash", "c")
AGAIN = replace(accepted(6.0, "b"), kind="again")  # the node had it for the other subscription


@pytest.mark.parametrize(
    ("events", "found"),
    [
        ((accepted(3.2, "a"), CRASH, accepted(6.0, "b"), given(7.0, "b")), 0),
        ((accepted(3.2, "a"), CRASH, accepted(6.0, "b"), given(7.0, "b", tries=0)), 1),  # not redelivered
        ((accepted(3.2, "a"), accepted(3.4, "b"), CRASH, given(7.0, "b")), 1),  # before the crash
        ((accepted(3.2, "a"), CRASH, accepted(6.0, "a"), given(7.0, "a")), 1),  # the same node
        ((accepted(3.2, "a"), accepted(3.2, "b"), CRASH, AGAIN, given(7.0, "a")), 0),
        ((accepted(3.2, "a"), accepted(3.2, "b"), AGAIN, given(7.0, "a")), 1),
        ((replace(CRASH, at=2.9), accepted(3.2, "a"), accepted(6.0, "b"), given(7.0, "b")), 1),
        ((accepted(3.2, "a"), CRASH, given(5.5, "b"), accepted(6.0, "b")), 1),  # before that node can have it
    ],
)
def test_of_several_masters_a_second_one_may_keep_it_when_a_process_has_ended_and_it_says_so(
    events: tuple[Event, ...], found: int
) -> None:
    begin = (KEPT, PUB, OK, given(4.0, "a", tries=0), ACKED, SETTLED)
    assert broken("Q4", *begin, *events) == found


@pytest.mark.parametrize("check", ["Q1", "Q3", "Q5"])
def test_that_is_no_other_law_broken_either(check: str) -> None:
    doubled = Event(6.5, "doubled", "", stream=S, domain=AUDIT, first=1, text="a, b")
    first, again = given(4.0, "a"), given(7.5, "a")
    began = replace(first, at=4.1, kind="began", who="ann", text="b1", keys=(first.to,))
    events = (KEPT, PUB, OK, first, began, accepted(3.2, "a"), doubled, again)
    assert broken(check, *events) == 1
    assert broken(check, *events, CRASH, accepted(6.0, "b")) == 0


def test_in_its_scenarios_who_was_cut_off_hears_from_the_states_of_others_what_has_ended_meanwhile() -> None:
    stage = Stage(with_steps(written(26, PROFILES["durables"]), ()))
    stage.close()
    assert all(node.sample is not None for node in stage.nodes.values())
