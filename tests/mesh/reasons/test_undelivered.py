"""The table of undelivered messages: bounded, and each message is counted once."""

import random

import pytest

from mesh.reasons.undelivered import Loss, Undelivered, is_about
from mesh.reasons.what import What

JOE = "/node/a/client/joe/session/1"


def test_rows_grow_by_receiver_topic_and_reason() -> None:
    it = Undelivered()
    it.add("b", ("k", "l"), "D", "OVERRUN", 3, 1.0)
    it.add("b", ("k",), "D", "OVERRUN", 2, 2.0)
    it.add("b", ("k",), "D", "EXPIRED", 1, 3.0)
    it.add("b", (), "", "LOST", 7, 4.0)
    assert list(it) == [
        Loss("b", "", "", "LOST", 7, 4.0),
        Loss("b", "k", "D", "EXPIRED", 1, 3.0),
        Loss("b", "k", "D", "OVERRUN", 5, 2.0),
    ]
    assert it.total == 13


def test_the_table_is_bounded_and_loses_no_count() -> None:
    it, rng = Undelivered(kept=10), random.Random(1)
    for n in range(1000):
        it.add(f"n{rng.randrange(50)}", (f"k{rng.randrange(5)}",), "", rng.choice(["A", "B"]), n, float(n))
    assert len(it) == 10 and it.total == sum(range(1000))
    rest = [loss for loss in it if not loss.who]
    assert {loss.why for loss in rest} == {"A", "B"} and len(list(it)) == 12


@pytest.mark.parametrize(
    ("kind", "text", "domain", "is_it"),
    [
        ("topic", "k", "D", True), ("topic", "k", "", False), ("client", "joe", "", True),
        ("client", "jo", "", False), ("client", JOE, "", True), ("client", "/node/b/client/joe", "", False),
        ("client", "client/joe/session/2", "", False),
        ("node", "b", "", False), ("message", "ab" * 16 + ":1", "", False), ("queue", "k", "", False),
    ],
)  # fmt: skip
def test_a_row_is_shown_to_who_asks_for_it(kind: str, text: str, domain: str, is_it: bool) -> None:
    assert is_about(Loss(JOE, "k", "D", "LOST", 1, 0.0), What.of(kind, text, domain)) is is_it
    assert not is_about(Loss("its master", "x", "", "LOST", 1, 0.0), What.of(kind, text, domain))
    assert is_about(Loss("b", "x", "", "LOST", 1, 0.0), What.of("node", "b"))
