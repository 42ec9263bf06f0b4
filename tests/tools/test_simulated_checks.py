"""Does each check see what it is for, and nothing else? One history that is fine, and one that is not."""

from dataclasses import replace

import pytest

from tools.simulating.checks import CHECKS, checked
from tools.simulating.checks.facts import Facts
from tools.simulating.history import Event, History

S, UUID_B = "5" * 32, (b"\x00\x02" * 8).hex()
PLAIN = Facts(("a", "b"), {"": ()}, feed_cap=100)
SEVERAL = Facts(("a", "b"), {"D": ("a", "b")}, "several")
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


def node(kind: str, number: int, at: float = 3.5, who: str = "a", stamp: int = 1, boot: int = 1) -> Event:
    return Event(
        at, kind, who, boot, stream=S, first=number, last=number, keys=("k",), flags="p", stamp=stamp
    )


def view(text: str, at: float, boot: int = 1, incarnation: int = 0) -> Event:
    return Event(at, "view", "a", 1, stream=UUID_B, text=text, to="b", first=boot, last=incarnation)


def said(kind: str, who: str, at: float, boot: int = 1, text: str = "") -> Event:
    return Event(at, kind, who, boot, text=text)


UP = (said("start", "a", 0), said("start", "b", 0), view("alive", 1))
LATER = Event(900, "last", "")
TOLD = Event(5, "gap", "ann", sub=1, gap=1)
CASES: dict[str, tuple[Facts, tuple[Event, ...], tuple[Event, ...]]] = {
    "G1": (PLAIN, (SUB, pub(1), ok(1), given(1)), (SUB, pub(1), ok(1), given(1, text="y"))),
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
    "L1": (
        PLAIN,
        (Event(9, "end", "a", text="pending"),),
        (Event(9, "end", "a", text="pending", stamp=1),),
    ),
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
    (violation,) = CHECKS[name](history(bad), facts)
    assert violation.invariant == name and name in str(violation)
    assert set(violation.events) <= set(bad)


def test_what_one_of_several_masters_lacks_is_no_ok() -> None:
    taken = Event(3, "known", "a", stream=S, domain="D", first=1, last=1)
    here = Event(2, "pub", "joe", stream=S, domain="D", first=1, last=1, keys=("k",), flags="p")
    fine = Event(4, "answer", "joe", stream=S, domain="D", first=1, last=1, text="OK")
    for check in ("G2", "C2.1"):
        assert [v.invariant for v in CHECKS[check](history((here, taken, fine)), SEVERAL)] == [check]


def test_a_transient_message_may_be_lost_with_a_process_and_a_persistent_one_may_not() -> None:
    for flags, found in (("", 0), ("p", 1)):
        events = (SUB, CONFIRMED, pub(1, flags=flags), ok(1), said("crash", "b", 4.5))
        assert len(CHECKS["C1.4"](history(events), PLAIN)) == found


def test_a_story_that_ended_in_an_error_is_not_judged_further() -> None:
    (violation,) = checked(history((pub(1), ok(1), Event(5, "problem", "", text="KeyError"))), PLAIN)
    assert (violation.invariant, violation.what) == ("crash", "KeyError")


def test_a_transient_message_may_be_refused_after_the_process_that_took_it_has_ended() -> None:
    for flags, end, found in (("", 6.0, 0), ("p", 6.0, 1), ("", 9.0, 1)):
        refused = ok(1, at=8, state="NOT_CONNECTED")
        events = (SUB, pub(1, flags=flags), given(1, flags=flags), said("crash", "b", end), refused)
        assert len(CHECKS["G1"](history(events), PLAIN)) == found


@pytest.mark.parametrize(("stamp", "found"), [(6, 0), (4, 1)])
def test_the_stamp_of_a_process_that_died_before_the_commit_is_void(stamp: int, found: int) -> None:
    # The clock was set back: what came again has an older stamp than before the crash, and a value of
    # another publisher, stamped between the two, rightly went past it.
    lost, again = node("accept", 2, stamp=8), node("accept", 2, at=4, stamp=5, boot=2)
    value = replace(node("value", 9, at=9, stamp=stamp, boot=3), stream="6" * 32)
    events = (lost, said("crash", "a", 3.6), again, ok(2, at=5), value, said("values", "a", 9, 3))
    violations = CHECKS["V1"](history(events), PLAIN)
    assert [v.events for v in violations] == [(again, value)] * found


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


def fault(kind: str, at: float, who: str, text: str = "pause") -> Event:
    return Event(at, kind, who, text=text)


PAUSED_B = (fault("fault", 30, "b"), fault("over", 50, "b"))


@pytest.mark.parametrize(
    ("ills", "found"),
    [
        ((), 1),
        ((fault("fault", 90, "b"), fault("over", 99, "b")), 0),
        (PAUSED_B, 1),
        # Healing ends no pause, and who went on after one reads old news.
        ((fault("fault", 30, "b"), fault("healed", 40, ""), fault("over", 120, "b")), 0),
        ((*PAUSED_B, fault("fault", 45, "a"), fault("over", 99, "a")), 0),
    ],
)  # fmt: skip
def test_who_may_be_called_dead_though_it_lives(ills: tuple[Event, ...], found: int) -> None:
    assert len(CHECKS["M2"](history((*UP, *ills, view("dead", 100))), PLAIN)) == found


def test_a_goodbye_ends_its_boot_whatever_the_incarnation() -> None:
    for boot, found in ((2, 0), (1, 1)):
        events = (view("alive", 1, 2, 5), view("left", 2, boot, 3))
        assert len(CHECKS["M3"](history(events), PLAIN)) == found
