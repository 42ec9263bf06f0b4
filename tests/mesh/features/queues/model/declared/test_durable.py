"""The definitions of durable subscriptions, and when two of them agree."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.errors import BadKey, BadQuery, LocalError
from mesh.features.queues.model.declared.durable import QUERIES, durable_of, packed, said, unpacked
from mesh.wire.codec import pack
from mesh.wire.commands import Query

texts = st.text("abc/", min_size=1, max_size=5)
queries = st.lists(
    st.builds(Query, st.sampled_from(("exact", "pattern")), texts, st.sampled_from(("", "NEWS"))), min_size=1
)


@given(queries)
def test_the_order_and_how_often_each_is_said_make_no_difference(some: list[Query]) -> None:
    one, other = durable_of(some), durable_of([*reversed(some), some[0]])
    assert one == other and packed(one) == packed(other)
    assert unpacked(packed(one)) == one


def test_key_pattern_and_domain_tell_them_apart() -> None:
    three = [Query("exact", "k"), Query("pattern", "k"), Query("exact", "k", "NEWS")]
    assert len({durable_of([query]) for query in three}) == len({packed(durable_of([q])) for q in three}) == 3
    assert said(durable_of(three)) == "k, k, k in domain NEWS"


@pytest.mark.parametrize(
    ("wrong", "kind"),
    [
        ([], BadQuery),
        ([Query("exact", f"{n}") for n in range(QUERIES + 1)], BadQuery),
        ([Query("exact", "")], BadKey),
        ([Query("pattern", "a/#/b")], BadQuery),
        ([Query("inbox", "")], BadQuery),
        ([Query("exact", "a", "\n")], BadKey),
        ([Query("exact", "__sys__dead")], BadQuery),
        ([Query("exact", "\ud800")], BadKey),
    ],
)
def test_what_can_be_none_is_refused(wrong: list[Query], kind: type[Exception]) -> None:
    with pytest.raises(kind):
        durable_of(wrong)


def test_what_a_later_release_has_added_is_left_out() -> None:
    data = pack({"queries": [["exact", "k", ""], ["xpath", "//a", ""]], "retention": 5})
    assert unpacked(data) == durable_of([Query("exact", "k")])


@given(st.binary(max_size=60))
def test_whatever_comes_is_one_or_a_local_error(data: bytes) -> None:
    with contextlib.suppress(LocalError):
        unpacked(data)
