"""Replies, each with the number of its request and its own content."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mesh.features.services.model.replies import refusal, replies
from mesh.wire import commands as c
from mesh.wire.envelope import REPLY, Envelope
from mesh.wire.frames import read, write
from mesh.wire.properties import decode_properties

ASKER = "/node/a/client/joe/session/-1"


def contents(n: int) -> Envelope:
    bodies = [b"%d" % i * (i % 3 + 1) for i in range(n)]
    sizes = b"".join(len(b).to_bytes(4, "little") for b in bodies)
    return Envelope(b"c" * 16, "r", 1, n, ("k",), n, sizes, b"".join(bodies), to="x", flags=1)


@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=40, unique=True), st.randoms())
def test_numbers_and_contents_stay_together_in_whatever_order_they_come(
    numbers: list[int], chance: object
) -> None:
    whole = contents(len(numbers))
    pairs = [(n, place) for place, n in enumerate(numbers)]
    found = {}
    for e in replies(whole, pairs, b"a" * 16, ASKER, "server", 77):
        (e,) = read(write(c.Respond((1,)), [e]))[1]  # any node can read it
        assert e.sent == 77, "whatever the server has written there"
        assert (e.flags, e.stream, e.to, e.sender) == (REPLY, b"a" * 16, ASKER, "server")
        for i in range(e.count):
            assert e.number(i) not in found
            found[e.number(i)] = e.message(i)[1]
    assert found == {n: whole.message(place)[1] for n, place in pairs}


def test_in_order_the_body_is_the_same_bytes() -> None:
    whole = contents(5)
    (e,) = replies(whole, [(n, n - 1) for n in range(1, 6)], b"a" * 16, ASKER, "server", 77)
    assert e.body is whole.body


def test_numbers_are_listed_only_where_some_are_missing() -> None:
    def listed(*numbers: int) -> list[tuple[int, ...]]:
        pairs = [(n, place) for place, n in enumerate(numbers)]
        made = list(replies(contents(len(numbers)), pairs, b"a" * 16, ASKER, "server", 77))
        assert [n for e in made for n in e.number_list(range(e.count))] == list(numbers)
        assert refusal(b"a" * 16, numbers, ASKER, "GONE", "").numbers == made[0].numbers
        return [e.numbers for e in made]

    assert listed(7) == listed(3, 4, 5) == [()]
    assert listed(3, 5, 6) == [(3, 3, 5, 6)]


def test_a_refusal_says_its_code_and_text_for_each() -> None:
    (e,) = read(
        write(c.Respond((1,)), [refusal(b"a" * 16, (3, 5, 6), ASKER, "HANDLER_LOST", "gone \ud800")])
    )[1]
    assert e.number_list(range(3)) == [3, 5, 6]
    for i in range(3):
        props, text = e.message(i)
        assert (decode_properties(props).code, text) == ("HANDLER_LOST", b"gone ?")
