"""Each check finds what it is for and nothing else: a valid and an invalid history for each."""

from dataclasses import replace
from math import inf

import pytest

from tests.tools.abroad_cases import ABROAD
from tests.tools.queue_cases import QUEUES
from tests.tools.rule_cases import RULES
from tests.tools.service_cases import SERVICES
from tests.tools.site_cases import SITES
from tests.tools.space_cases import SPACES
from tests.tools.transaction_cases import GIVEN_AGAIN, TRANSACTIONS
from tools.simulator.checks import CHECKS, checked
from tools.simulator.checks.facts import Facts, moves
from tools.simulator.checks.honesty import among_the_honest
from tools.simulator.checks.late import BACK, TAKEOVER, LateByWay
from tools.simulator.checks.resources import nothing_left
from tools.simulator.history import Event, History

S, UUID_B = "5" * 32, (b"\x00\x02" * 8).hex()
PLAIN = Facts(("a", "b"), {"": ()}, feed_cap=100)
SEVERAL = Facts(("a", "b"), {"D": ("a", "b")}, "several")
LIAR = Facts(("a", "b", "c"), {"": ()}, liar="c", deceived=frozenset({"client eve"}))
SUB = Event(1, "sub", "ann", sub=1, keys=("#",))
CONFIRMED = Event(2, "confirmed", "ann", sub=1, to="/node/b/client/ann/session/1")
INBOX = (
    Event(1, "sub", "ann", flags="inbox"),
    Event(2, "confirmed", "ann", to="/node/b/client/ann/session/1"),
)


def pub(number: int, at: float = 3.0, flags: str = "p", key: str = "k", to: str = "") -> Event:
    return Event(
        at, "pub", "joe", stream=S, first=number, last=number, keys=(key,), text="x", flags=flags, to=to
    )


def ok(number: int, at: float = 4.0, state: str = "OK") -> Event:
    return Event(at, "answer", "joe", stream=S, first=number, last=number, text=state)


def given(
    number: int, at: float = 5.0, flags: str = "p", text: str = "x", sub: int = 1, key: str = "k"
) -> Event:
    return Event(at, "deliver", "ann", stream=S, first=number, keys=(key,), text=text, flags=flags, sub=sub)


def retracted(number: int, at: float = 7.0) -> Event:
    return Event(at, "retracted", "ann", stream=S, first=number, sub=1)


def node(kind: str, number: int, at: float = 3.5, who: str = "a", stamp: int = 1, boot: int = 1) -> Event:
    return Event(
        at, kind, who, boot, stream=S, first=number, last=number, keys=("k",), flags="p", stamp=stamp
    )


def view(text: str, at: float, boot: int = 1, incarnation: int = 0) -> Event:
    return Event(at, "view", "a", 1, stream=UUID_B, text=text, to="b", first=boot, last=incarnation)


def said(kind: str, who: str, at: float, boot: int = 1, text: str = "") -> Event:
    return Event(at, kind, who, boot, text=text)


def read(number: int, stamp: int = 0, to: str = "a", turn: int = 1, text: str = "fresh") -> Event:
    return Event(
        9,
        "read",
        "asker",
        stream=S if number else "",
        first=number,
        keys=("k",),
        text=text,
        sub=turn,
        to=to,
        stamp=stamp,
    )


ERASED = (
    Event(5, "erase", "ann", keys=("k",)),
    Event(5.1, "accept", "a", 1, stream="e" * 32, first=1, last=1, keys=("k",), flags="pe", stamp=9),
    Event(5.2, "erased", "ann", keys=("k",)),
)
UP = (said("start", "a", 0), said("start", "b", 0), view("alive", 1))
LATER = Event(900, "last", "")
TOLD = Event(5, "gap", "ann", sub=1, gap=1)
CAME = Event(5, "came to", "joe", stream=S, to="b")
CASES: dict[str, tuple[Facts, tuple[Event, ...], tuple[Event, ...]]] = {
    "G1": (PLAIN, (SUB, pub(1), ok(1), given(1)), (SUB, pub(1), ok(1), given(1, text="y"))),
    "G1.1": (
        PLAIN,
        (SUB, pub(1), given(1, flags="pd"), ok(1, at=6, state="STORE_FULL"), retracted(1)),
        (SUB, pub(1), given(1, flags="pd"), ok(1, at=6, state="STORE_FULL")),
    ),
    "G2": (PLAIN, (pub(1), node("known", 1), ok(1)), (pub(1), ok(1), node("known", 1, at=5))),
    "C1.1": (PLAIN, (SUB, given(1), given(2)), (SUB, given(1), given(2), given(1, at=6))),
    "C1.2": (
        PLAIN,
        (SUB, pub(1), pub(2), given(1), given(2, at=6)),
        (SUB, pub(1), pub(2), given(2), given(1, at=6)),
    ),
    "C1.3": (
        PLAIN,
        (SUB, CONFIRMED, pub(1), pub(2), ok(1), ok(2), TOLD, given(2)),
        (SUB, CONFIRMED, pub(1), pub(2), ok(1), ok(2), given(2)),
    ),
    "C1.4": (PLAIN, (SUB, CONFIRMED, pub(1), ok(1), given(1)), (SUB, CONFIRMED, pub(1), ok(1))),
    "C1.5": (
        replace(PLAIN, room=100),
        (replace(SUB, flags="i"), said("crash", "a", 4), replace(SUB, flags="g", at=4.5), CONFIRMED, TOLD),
        (replace(SUB, flags="g", at=1.6), CONFIRMED, TOLD),
    ),
    "C2.1": (PLAIN, (pub(1), node("known", 1), ok(1)), (pub(1), ok(1))),
    "C2.2": (
        PLAIN,
        (pub(1), pub(2), node("accept", 1), node("accept", 2)),
        (pub(1), pub(2), node("accept", 2), node("accept", 1)),
    ),
    "C2.3": (PLAIN, (ok(1, state="STORE_FULL"),), (ok(1, state="WHATEVER"),)),
    "C2.4": (
        PLAIN,
        (pub(1), ok(1, state="FORWARD_WARNING"), ok(1, at=9)),
        (pub(1), ok(1, state="FORWARD_WARNING"), Event(9, "open publish", "joe")),
    ),
    "C3.7": (PLAIN, (node("log", 1), node("log", 2)), (node("log", 1), node("log", 1, at=9, boot=2))),
    "C5.1": (
        PLAIN,
        (*INBOX, pub(1, to="/node/b/client/ann"), ok(1), given(1, sub=0)),
        (*INBOX, pub(1, to="/node/b/client/bob"), ok(1), given(1, sub=0)),
    ),
    "C6.2": (
        PLAIN,
        (Event(5, "deliver", "ann", route=("a/1", "b/0", "a/1")),),
        (Event(5, "deliver", "ann", route=("a/2", "b/1", "a/0")),),
    ),
    "V1": (
        PLAIN,
        (node("accept", 2, stamp=7), ok(2), node("value", 2, at=9, stamp=7), said("values", "a", 9)),
        (node("accept", 2, stamp=7), ok(2), node("value", 1, at=9, stamp=6), said("values", "a", 9)),
    ),
    "V2": (
        PLAIN,
        (node("accept", 1), node("accept", 2, stamp=2), ok(1), ok(2), read(2, stamp=2), read(2, 2, "b")),
        (node("accept", 1), node("accept", 2, stamp=2), ok(1), ok(2), read(1, stamp=1), read(1, 1, "b", 2)),
    ),
    "V3": (
        PLAIN,
        (node("accept", 1), ok(1), *ERASED, said("crash", "a", 8), read(0)),
        (node("accept", 1), ok(1), *ERASED, said("crash", "a", 8), node("value", 1, at=9)),
    ),
    "M1": (
        PLAIN,
        (*UP, said("crash", "b", 100), view("dead", 105), LATER),
        (*UP, said("crash", "b", 100), LATER),
    ),
    "M2": (PLAIN, (*UP, said("crash", "b", 95), view("dead", 100)), (*UP, view("dead", 100))),
    "M3": (PLAIN, (view("alive", 1), view("alive", 2, 2)), (view("alive", 1, 2), view("suspect", 2, 1, 5))),
    "M4": (
        PLAIN,
        (Event(9, "end", "a", text="alive", keys=("b",)), Event(9, "end", "b", text="alive", keys=("a",))),
        (Event(9, "end", "a", text="alive"), Event(9, "end", "b", text="alive", keys=("a",))),
    ),
    "M5": (
        PLAIN,
        (Event(5, "view", "foreign stranger", text="alive", to="b"),),
        (Event(5, "view", "a", text="alive", to="stranger"),),
    ),
    "R1": (
        PLAIN,
        (Event(5, "sample", "a", text="feed", stamp=100),),
        (Event(5, "sample", "a", text="feed", stamp=101),),
    ),
    "L1": (PLAIN, (Event(9, "end", "a", text="pending"),), (Event(9, "end", "a", text="pending", stamp=1),)),
    "SE4": (PLAIN, (CAME,), (CAME, *[said("serves", "a", at) for at in range(6, 23)])),
    "SE5": (PLAIN, (CAME,), (CAME, Event(6, "gives up", "a", stream=S))),
    "SE10": (
        PLAIN,
        (said("drain", "a", 5, text="clients"), said("drain", "a", 6, text="done"), said("emptied", "a", 7)),
        (said("drain", "a", 5, text="clients"), Event(7, "emptied", "a", 1, stamp=1)),
    ),
    "RD1": (PLAIN, (CAME,), (CAME, said("unserved", "joe", 9))),
    "RD2": (
        PLAIN,
        tuple(Event(at / 10, "dials", "joe", to="b") for at in range(20)),
        tuple(Event(at / 20, "dials", "joe", to="b") for at in range(20)),
    ),
    "SE6": (
        PLAIN,
        (CAME, Event(9, "end", "a", text="sessions_held"), Event(9, "has session", "b", stream=S)),
        (CAME, Event(9, "has session", "a", stream=S), Event(9, "has session", "b", stream=S)),
    ),
    "TP1": (PLAIN, (said("start", "a", 5),), (said("start", "a", 5), said("thrown out", "a", 6))),
    "P1": (LIAR, (said("stop", "a", 5),), (said("stop", "a", 5), said("stopped", "a", 5, text="CONFLICT"))),
    **SERVICES,
    **QUEUES,
    **SITES,
    **ABROAD,
    **RULES,
    **TRANSACTIONS,
    **SPACES,
}


def history(events: tuple[Event, ...]) -> History:
    found = History()
    for event in events:
        found.add(event)
    return found


def test_every_check_has_its_two_histories() -> None:
    assert CASES.keys() == CHECKS.keys()


@pytest.mark.parametrize("name", CASES)
def test_a_check_is_content_with_a_history_that_keeps_the_promise(name: str) -> None:
    facts, good, _ = CASES[name]
    assert CHECKS[name](history(good), facts) == []


@pytest.mark.parametrize("name", CASES)
def test_a_check_sees_that_the_promise_is_broken_and_shows_where(name: str) -> None:
    facts, _, bad = CASES[name]
    for violation in (violations := CHECKS[name](history(bad), facts)):
        assert violation.invariant == name and name in str(violation)
        assert set(violation.events) <= set(bad)
    assert len(violations) == (2 if name == "V2" else 1)  # one for each node that was asked


def test_only_a_liar_may_let_a_node_pin_its_log_in_the_end() -> None:
    pinned = history((Event(9, "end", "a", text="resume_pins", stamp=1),))
    assert [len(CHECKS["SE6"](pinned, facts)) for facts in (PLAIN, LIAR)] == [1, 0]


@pytest.mark.parametrize(
    ("facts", "room", "sizes", "found"),
    [
        (PLAIN, 100, (60, 40), 1),
        (PLAIN, 100, (60, 41), 0),
        (SEVERAL, 100, (50, 10), 1),  # both nodes may relay the larger one
        (SEVERAL, 100, (51, 10), 0),
        (PLAIN, 0, (), 1),
        (PLAIN, -1, (), 0),
    ],
)
def test_C1_5_holds_while_the_backlog_has_room_for_one_envelope_of_each_source(
    facts: Facts, room: int, sizes: tuple[int, ...], found: int
) -> None:
    sent = tuple(Event(3, "envelope", who, stamp=size) for who, size in zip("jk", sizes, strict=False))
    larger = Event(6, "envelope", "joe", stamp=1000)  # after the gap
    events = (replace(SUB, flags="g", at=1.6), CONFIRMED, *sent, TOLD, larger)
    assert len(CHECKS["C1.5"](history(events), replace(facts, room=room))) == found


def test_what_one_of_several_masters_lacks_is_no_ok() -> None:
    taken = Event(3, "known", "a", stream=S, domain="D", first=1, last=1)
    here = Event(2, "pub", "joe", stream=S, domain="D", first=1, last=1, keys=("k",), flags="p")
    fine = Event(4, "answer", "joe", stream=S, domain="D", first=1, last=1, text="OK")
    for check in ("G2", "C2.1"):
        assert [v.invariant for v in CHECKS[check](history((here, taken, fine)), SEVERAL)] == [check]


def test_a_delivery_that_a_transaction_has_settled_is_not_given_again() -> None:
    assert [v.invariant for v in CHECKS["T3"](history(GIVEN_AGAIN), PLAIN)] == ["T3"]


def test_a_transient_message_may_be_lost_with_a_process_and_a_persistent_one_may_not() -> None:
    for flags, found in (("", 0), ("p", 1)):
        events = (SUB, CONFIRMED, pub(1, flags=flags), ok(1), said("crash", "b", 4.5))
        assert len(CHECKS["C1.4"](history(events), PLAIN)) == found


def test_a_scenario_that_ended_in_an_error_is_not_judged_further() -> None:
    (violation,) = checked(history((pub(1), ok(1), Event(5, "problem", "", text="KeyError"))), PLAIN)
    assert (violation.invariant, violation.what) == ("crash", "KeyError")


def test_a_transient_message_may_be_refused_after_the_process_that_took_it_has_ended() -> None:
    for flags, end, found in (("", 6.0, 0), ("p", 6.0, 1), ("", 9.0, 1)):
        refused = ok(1, at=8, state="NOT_CONNECTED")
        events = (SUB, pub(1, flags=flags), given(1, flags=flags), said("crash", "b", end), refused)
        assert len(CHECKS["G1"](history(events), PLAIN)) == found


@pytest.mark.parametrize(
    ("events", "found"),
    [
        ((given(1, flags="pd"), ok(1, state="OK"), retracted(1)), 1),
        ((given(1, flags="pd"), ok(1, state="STORE_FULL"), said("crash", "b", 6)), 0),
        ((given(1, flags="pd"), ok(1, state="STORE_FULL"), Event(5.5, "down", "ann")), 0),
        ((given(1, flags="pd"), ok(1, state="STORE_FULL"), Event(5.5, "down", "joe")), 1),
        ((given(1, flags="pd"), ok(1, state="EXPIRED"), retracted(1), given(1, at=9)), 0),
        ((given(1, flags="pd"), retracted(1), given(1, at=9, flags="pd"), ok(1, at=9.5)), 0),
    ],
)
def test_what_was_given_too_early_is_taken_back_by_who_is_there(
    events: tuple[Event, ...], found: int
) -> None:
    scenario = history((SUB, pub(1), *events))
    assert len(CHECKS["G1.1"](scenario, PLAIN)) == found and not CHECKS["C1.1"](scenario, PLAIN)


@pytest.mark.parametrize(("stamp", "found"), [(6, 0), (4, 1)])
def test_the_stamp_of_a_process_that_died_before_the_commit_is_void(stamp: int, found: int) -> None:
    # The clock was set back: the repeated message has an older timestamp than before the crash. A value
    # of another publisher, with a timestamp between the two, rightly passed it.
    lost, again = node("accept", 2, stamp=8), node("accept", 2, at=4, stamp=5, boot=2)
    value = replace(node("value", 9, at=9, stamp=stamp, boot=3), stream="6" * 32)
    events = (lost, said("crash", "a", 3.6), again, ok(2, at=5), value, said("values", "a", 9, 3))
    violations = CHECKS["V1"](history(events), PLAIN)
    assert [v.events for v in violations] == [(again, value)] * found


def test_nodes_that_say_different_things_of_a_topic_are_seen_and_a_cache_that_may_be_behind_is_not() -> None:
    for yet, text, found in (("", "cached", 1), ("b", "cached", 0), ("b", "fresh", 1)):
        gap = Event(8, "untold yet", "a", to=yet)
        one, other = read(2, 2), replace(read(1, 1, "b"), text=text)
        events = (pub(1, flags=""), pub(2, flags=""), ok(1), ok(2), gap, one, other)
        assert len(CHECKS["V2"](history(events), PLAIN)) == found


def test_what_came_again_from_a_process_that_began_anew_has_another_time_at_one_of_several_masters() -> None:
    for stamp, found in ((1, 1), (7, 0)):
        accepts = (node("accept", 1), node("accept", 1, who="b", stamp=stamp), node("accept", 2, stamp=5))
        taken = tuple(replace(event, domain="D") for event in accepts)
        sent = tuple(replace(event, domain="D") for event in (pub(1), pub(2), ok(1), ok(2)))
        reads = (replace(read(2, 5), domain="D"), replace(read(1, stamp, "b"), domain="D"))
        violations = CHECKS["V2"](history((*taken, *sent, *reads)), SEVERAL)
        assert len([v for v in violations if "is not the same" in v.what]) == found


def test_of_several_masters_one_may_take_the_end_of_a_topic_last_and_another_a_message() -> None:
    for ends_at, found in (("b", 0), ("a", 0), ("", 1)):
        taken = (node("accept", 1), node("accept", 1, who="b"))
        end = (replace(ERASED[1], who=ends_at),) if ends_at else ()
        events = (pub(1), *taken, *end, ok(1), read(0, to=ends_at or "a"))
        violations = CHECKS["V2"](history(tuple(replace(event, domain="D") for event in events)), SEVERAL)
        assert len(violations) == found


def test_an_end_of_a_topic_that_was_not_on_the_disk_before_a_crash_was_not_taken() -> None:
    asked, accepted, answered = ERASED
    for stored, found in ((), 0), ((replace(accepted, kind="log"),), 1):
        died = (asked, accepted, *stored, said("crash", "a", 5.15), answered)
        for before in ((), ERASED):
            events = (*before, node("accept", 1), ok(1), *died, node("value", 1, at=9))
            assert len(CHECKS["V3"](history(events), PLAIN)) == found


def test_of_a_liar_nothing_counts_that_it_or_its_clients_say_or_are_told() -> None:
    its = (
        replace(pub(1), who="client eve", stream="6" * 32),
        replace(given(1), who="client eve"),
        replace(given(2), stream="6" * 32),
        replace(given(3), route=("c/0",)),
        node("accept", 4, who="c"),
        replace(pub(5), to="/node/c/client/eve"),
        view("dead", 5),
        Event(9, "end", "c", text="pending"),
    )
    letter = pub(7, to="/node/b/client/ann"), replace(given(7, sub=0), route=("a/1", "c/1", "b/0"))
    others = (pub(6), ok(6), given(6), said("fault", "c", 4), Event(9, "end", "c", text="alive"), *letter)
    wrong = replace(letter[1], text="another")
    assert among_the_honest(history((*its, wrong, *others)), LIAR).events == list(others)


def test_no_liar_ends_a_connection_of_two_others() -> None:
    for who, to, is_wrong in (("a", "b", True), ("a", "c", False), ("c", "b", False)):
        found = checked(history((Event(9, "hung up", who, to=f"/node/{to}"),)), LIAR)
        assert [violation.invariant for violation in found] == ["P1"] * is_wrong


def test_what_comes_by_rules_that_nobody_remembers_is_no_forgery() -> None:
    for what, outdated, is_wrong in (
        ("forged", False, True),
        ("forged", True, False),
        ("malformed", True, True),
    ):
        ended = history((Event(9, "end", "a", text=what, stamp=1),))
        assert bool(nothing_left(ended, replace(PLAIN, outdated=outdated))) == is_wrong


def test_what_waits_in_the_end_waits_for_the_liar_or_on_the_way_to_it() -> None:
    facts = replace(LIAR, rules="chain")
    for owed, is_wrong in (("a-b", True), ("a-c", False), ("c-b", False), ("a-b b-c", False)):
        events = [
            Event(9, "owed", who, to=to) for who, _, to in (pair.partition("-") for pair in owed.split())
        ]
        found = checked(history(tuple(events)), facts)
        assert [violation.invariant for violation in found] == ["L1"] * is_wrong


def test_of_an_erased_topic_only_what_was_taken_before_must_be_gone() -> None:
    before, after = node("accept", 1), node("accept", 2, at=6)
    for value, found in ((1, 1), (2, 0)):
        events = (before, ok(1), *ERASED, after, node("value", value, at=9))
        assert len(CHECKS["V3"](history(events), PLAIN)) == found
    unanswered = (before, ok(1), *ERASED[:2], node("value", 1, at=9))
    assert CHECKS["V3"](history(unanswered), PLAIN) == []


def test_before_the_first_fault_an_answered_erase_leaves_a_topic_nowhere() -> None:
    at_b = node("accept", 1, who="b")
    for fault, found in (((), 1), ((said("fault", "a", 1.0),), 0)):
        events = (*fault, at_b, ok(1), *ERASED, read(1, 1, "b"))
        assert len(CHECKS["V3"](history(events), PLAIN)) == found


def test_a_tail_back_queue_and_a_subscriber_have_caps_of_their_own() -> None:
    facts = Facts(("a", "b"), {"": ()}, feed_cap=100, tail_cap=40)
    for text, amount, found in (
        ("feed", 100, 0),
        ("feed", 101, 1),
        ("tail-back", 40, 0),
        ("tail-back", 41, 1),
    ):
        sampled = Event(5, "sample", "a", text=text, stamp=amount)
        assert len(CHECKS["R1"](history((sampled,)), facts)) == found


def test_what_others_hold_void_may_come_late() -> None:
    facts = Facts(("a", "b"), {"": ()}, void_after=20.0)
    for at, found in ((22.0, 1), (24.0, 0)):
        given_late = (SUB, pub(1), pub(2), given(2, at=9), given(1, at=at))
        taken_late = (pub(1), pub(2), node("accept", 2, at=9), node("accept", 1, at=at))
        told_late = (SUB, CONFIRMED, pub(1), pub(2), ok(1), ok(2), given(2, at=at))
        assert len(CHECKS["C1.3"](history(told_late), facts)) == found
        assert len(CHECKS["C1.2"](history(given_late), facts)) == found
        assert len(CHECKS["C2.2"](history(taken_late), facts)) == found


@pytest.mark.parametrize(
    ("by", "flags", "start", "found"),
    [
        ("c", "p", 26.0, 0),
        ("c", "p", 14.0, 0),
        ("d", "p", 26.0, 1),
        ("c", "", 26.0, 1),
        ("c", "p", 12.0, 1),
        ("c", "p", 42.0, 1),
    ],
)
@pytest.mark.parametrize("fault", ["crash", "cut", "pause"])
def test_a_way_that_was_away_may_bring_late_what_is_persistent(
    fault: str, by: str, flags: str, start: float, found: int
) -> None:
    away = (Event(3, "fault", "c", to="d", text=fault), Event(start, "over", "c", to="d", text=fault))
    back = (said("start", "c", start),) if fault == "crash" else away
    early = replace(given(2, at=29), route=("a/0", "d/1", "b/2"))
    late = replace(given(1, at=40, flags=flags), route=("c/1", "a/0", f"{by}/1", "b/2"))
    sent = (pub(1, at=23, flags=flags), pub(2, at=24))
    events = (SUB, *sent, *back, said("start", "d", 26.0), early, late)
    assert len(CHECKS["C1.2"](history(events), PLAIN)) == found


@pytest.mark.parametrize(
    ("by", "rules", "told", "found"),
    [("c", "drawn", 12.0, 0), ("d", "drawn", 12.0, 1), ("c", "chain", 12.0, 1), ("c", "drawn", 22.0, 1)],
)
def test_what_a_way_brings_too_late_that_is_just_back_is_told_when_it_comes(
    by: str, rules: str, told: float, found: int
) -> None:
    later = replace(given(2, at=9), route=("a/0", "d/1", "b/2"))
    last = (replace(later, at=told - 1, first=3), Event(told, "gap", "ann", sub=1, gap=1))
    sent = (pub(1, at=7, flags=""), pub(2, at=8), ok(1, at=8), ok(2, at=9), pub(3, at=9))
    events = (SUB, CONFIRMED, said("start", by, 6.0), *sent, later, *last)
    facts = replace(PLAIN, rules=rules, masters={"": ("a",)})
    assert len(CHECKS["C1.3"](history(events), facts)) == found


@pytest.mark.parametrize(
    ("sent_at", "told", "also", "found"),
    [
        (7.0, 31.0, (), 0),
        (7.0, 41.0, (), 1),
        (17.0, 31.0, (), 1),  # the route has been down for long
        (17.0, 31.0, (said("start", "b", 8.0),), 0),  # its node has just looked for it
        (7.0, 99.0, (said("crash", "a", 20.0), said("start", "a", 21.0)), 0),
        (7.0, 99.0, (said("crash", "a", 35.0),), 1),
    ],
)
def test_what_a_master_has_for_a_way_that_is_down_is_told_when_that_is_back(
    sent_at: float, told: float, also: tuple[Event, ...], found: int
) -> None:
    later = replace(given(2, at=19), route=("a/0", "d/1", "b/2"))
    down = (said("start", "c", 0.0), said("crash", "c", 6.0), said("start", "c", 30.0))
    sent = (pub(1, at=sent_at, flags=""), pub(2, at=18), ok(1, at=18), ok(2, at=19), pub(3, at=19))
    last = (replace(later, at=told - 0.5, first=3), Event(told, "gap", "ann", sub=1, gap=1))
    events = (SUB, CONFIRMED, *down, *also, *sent, later, *last)
    facts = replace(PLAIN, rules="drawn", masters={"": ("a",)})
    assert len(CHECKS["C1.3"](history(events), facts)) == found


def test_a_client_that_comes_to_its_node_again_goes_on_with_its_move() -> None:
    events = [(1, "came to", "b"), (2, "came to", "b"), (3, "came to", "c"), (5, "released", ""),
              (7, "came to", "c"), (8, "released", ""), (9, "came to", "b")]  # fmt: skip
    told = history(tuple(Event(at, kind, "client joe", stream=S, to=to) for at, kind, to in events))
    assert moves(told) == {"client joe": [(3, 5), (7, 8), (9, inf)]}


@pytest.mark.parametrize(("met", "takers", "found"), [(0.5, (), 1), (2.5, (), 0), (2.5, ("b",), 1)])
def test_a_node_that_was_alone_is_owed_what_a_master_took_for_it(
    met: float, takers: tuple[str, ...], found: int
) -> None:
    sees = Event(met, "view", "b", 1, text="alive", to="a", first=1)
    taken = replace(node("accept", 1), route=takers)
    events = sorted((SUB, CONFIRMED, sees, pub(1), taken, pub(2), given(2)), key=lambda event: event.at)
    told = history((*events, ok(1, at=6), ok(2, at=6)))
    assert len(CHECKS["C1.3"](told, PLAIN)) == len(CHECKS["C1.4"](told, PLAIN)) == found


def fault(kind: str, at: float, who: str, text: str = "pause") -> Event:
    return Event(at, kind, who, text=text)


PAUSED_B = (fault("fault", 30, "b"), fault("over", 50, "b"))


@pytest.mark.parametrize(
    ("ills", "found"),
    [
        ((), 1),
        ((fault("fault", 90, "b"), fault("over", 99, "b")), 0),
        (PAUSED_B, 1),
        # Healing ends no pause, and a client that continues after a pause reads old messages.
        ((fault("fault", 30, "b"), fault("healed", 40, ""), fault("over", 120, "b")), 0),
        ((*PAUSED_B, fault("fault", 45, "a"), fault("over", 99, "a")), 0),
    ],
)
def test_who_may_be_called_dead_though_it_lives(ills: tuple[Event, ...], found: int) -> None:
    assert len(CHECKS["M2"](history((*UP, *ills, view("dead", 100))), PLAIN)) == found


def test_a_goodbye_ends_its_boot_whatever_the_incarnation() -> None:
    for boot, found in ((2, 0), (1, 1)):
        events = (view("alive", 1, 2, 5), view("left", 2, boot, 3))
        assert len(CHECKS["M3"](history(events), PLAIN)) == found


@pytest.mark.parametrize(
    "begin, end, found",
    [(1.5, 1.8, 0), (0.5, 1.2, 0), (1.5, 9.0, 0), (0.1, 0.9, 1), (2.1, 9.0, 1)],
    ids=["meanwhile", "when asked", "when confirmed", "before", "after"],
)
def test_trial_D_a_subscription_that_was_made_while_the_disk_was_full_may_be_forgotten(
    begin: float, end: float, found: int
) -> None:
    faults = Event(begin, "fault", "b", text="full"), Event(end, "over", "b", text="full")
    events = sorted((*faults, SUB, CONFIRMED, pub(1), node("accept", 1, who="b"), ok(1)), key=lambda e: e.at)
    assert len(CHECKS["C1.4"](history(tuple(events)), PLAIN)) == found


@pytest.mark.parametrize(("is_tree", "due"), [(True, 30 + BACK), (False, 10)])
def test_the_gap_of_a_former_parent_is_due_when_that_reaches_the_master(is_tree: bool, due: float) -> None:
    times = ((5, "fault"), (30, "over"))
    cut = tuple(Event(at, kind, "heron", text="cut", to="avalon") for at, kind in times)
    late, pub = LateByWay(history(cut), is_tree), Event(4, "pub", "joe")
    assert late.due(Event(10, "deliver", "eve", route=("heron/0", "frodo/1")), pub, [pub]) == due


def paused(node: str, begin: float, end: float) -> tuple[Event, Event]:
    return fault("fault", begin, node), fault("over", end, node)


@pytest.mark.parametrize(
    ("sent_at", "pauses", "due"),
    [
        (40, paused("avalon", 35, 90), 90 + BACK),
        (34, paused("avalon", 35, 90), 70),  # avalon passed it on before
        (40, paused("frodo", 35, 58), 70),  # the message came by that node
        (35 + TAKEOVER + 1, paused("avalon", 35, 90), 70),  # the slave had another parent
        (56, (*paused("avalon", 35, 90), *paused("frodo", 30, 58)), 90 + BACK),  # the slave itself was paused
        (34, (*paused("avalon", 35, 90), *paused("frodo", 30, 58)), 90 + BACK),  # avalon has it for the slave
        (40, (*paused("avalon", 35, 90), said("start", "avalon", 85)), 85 + BACK),
        (40, (*paused("avalon", 35, 90), said("start", "avalon", 95)), 90 + BACK),
        (40, (*paused("avalon", 35, 90), said("crash", "heron", 75)), inf),  # the master has lost the gap
    ],
)
def test_the_gap_of_a_paused_former_parent_is_due_when_that_runs_again(
    sent_at: float, pauses: tuple[Event, ...], due: float
) -> None:
    events = history(tuple(sorted(pauses, key=lambda event: event.at)))
    given_at = Event(70, "deliver", "eve", route=("heron/0", "frodo/1"))
    late, sent = Event(sent_at, "pub", "joe"), LateByWay(events, is_tree=True)
    assert sent.due(given_at, late, [late]) == due
    assert LateByWay(events).due(given_at, late, [late]) == 70, "without slaves there is no other parent"


@pytest.mark.parametrize(("is_tree", "due"), [(True, 40 + BACK), (False, 29)])
def test_a_slave_needs_longer_than_other_nodes_until_it_has_another_route(is_tree: bool, due: float) -> None:
    events = history((said("crash", "avalon", 10), said("start", "avalon", 40)))
    late = Event(25, "pub", "joe")
    given_at = Event(29, "deliver", "eve", route=("heron/0", "frodo/1"))
    assert LateByWay(events, is_tree).due(given_at, late, [late]) == due
