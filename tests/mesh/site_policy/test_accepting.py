"""Messages and requests that a node accepts from another site."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from mesh.site_policy.accepting import Accepting, Accepts
from mesh.wire.commands import Query
from tests.each import each


@dataclass(frozen=True)
class From:
    name: str = "LON"
    domains: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    one_way: bool = False
    accepts: Accepts | None = None
    serves: tuple[str, ...] = ()
    letters: tuple[str, ...] = ()


def test_by_default_nothing_comes_in_but_the_mirror_of_what_is_sent_there() -> None:
    accepting = Accepting(From(domains=("STOCK",), topics=("sensors/#",)))
    assert accepting.may_write("STOCK", "any")
    assert accepting.may_write("", "sensors/a")
    assert not accepting.may_write("", "prices")
    assert not Accepting(From()).may_write("", "a")


def test_what_is_accepted_stands_in_place_of_the_mirror() -> None:
    accepting = Accepting(From(domains=("STOCK",), accepts=Accepts((), ("news/+",))))
    assert accepting.may_write("", "news/a")
    assert not accepting.may_write("STOCK", "a")
    assert not Accepting(From(domains=("STOCK",), accepts=Accepts())).may_write("STOCK", "a")


@pytest.mark.parametrize(
    ("domain", "topic"),
    [
        ("", "__sys__cluster.node.master[x]"), ("__sys__x", "a"), ("queue/orders", "a"), ("map/m", "a"),
        ("lock/l", "a"), ("counter/c", "a"), ("address/", "a"), ("site/NYC", "a"), ("sub/audit", "a"),
        ("node/heron", "a"),
    ],
)  # fmt: skip
def test_nothing_comes_in_that_is_the_meshs_own_though_all_is_accepted(domain: str, topic: str) -> None:
    all_of_it = Accepts((domain, ""), ("#", "__sys__/#", topic))
    assert not Accepting(From(accepts=all_of_it)).may_write(domain, topic)


def test_requests_come_in_for_what_is_served_and_nothing_else() -> None:
    accepting = Accepting(From(domains=("STOCK",), topics=("#",), serves=("calc/#",)))
    assert accepting.may_ask("calc/add")
    assert not accepting.may_ask("admin/stop")
    assert not Accepting(From(topics=("#",))).may_ask("calc/add")


@each(
    "address",
    ["queue/a", "map/a", "lock/a", "node/heron", "client/joe", "/node/h/client/j", "__sys__x", "site/NYC"],
)
def test_nobody_asks_what_is_the_meshs_own_though_all_is_served(address: str) -> None:
    assert not Accepting(From(serves=("#", "+/+", address))).may_ask(address)


def test_from_a_site_that_is_only_sent_to_nothing_comes_in() -> None:
    accepting = Accepting(From(topics=("#",), one_way=True, accepts=Accepts((), ("#",)), serves=("#",)))
    assert not accepting.may_write("", "a")
    assert not accepting.may_ask("calc/add")


def test_what_is_passed_on_is_named_and_no_pattern_of_addresses_names_it() -> None:
    accepting = Accepting(From(serves=("calc/#", "site/NYC")))
    assert accepting.may_pass("NYC") and not accepting.may_pass("SFO") and accepting.may_ask("calc/add")
    assert Accepting(From(serves=("site/*",))).may_pass("SFO")
    for serves in [(), ("#",), ("+/NYC",), ("*",), ("site",)]:
        assert not Accepting(From(serves=serves)).may_pass("NYC")
    assert not Accepting(From(serves=("site/*",), one_way=True)).may_pass("NYC")
    assert not Accepting(From(serves=("site/*", "site/NYC"))).may_ask("site/NYC")


def test_letters_come_in_for_who_is_named_and_for_nobody_else() -> None:
    assert not Accepting(From(domains=("STOCK",), topics=("#",), serves=("#",))).may_write_to("joe")
    accepting = Accepting(From(letters=("joe",)))
    assert accepting.may_write_to("joe") and not accepting.may_write_to("ann")
    everybody = Accepting(From(letters=("#",)))
    assert everybody.may_write_to("joe") and not everybody.may_write_to("__sys__")
    assert not Accepting(From(one_way=True, letters=("#",))).may_write_to("joe")


@pytest.mark.parametrize(
    ("kind", "text", "domain", "is_reached"),
    [
        ("exact", "any", "STOCK", True),
        ("exact", "any", "", True),
        ("exact", "any", "NEWS", False),
        ("exact", "sensors/1", "NEWS", True),
        ("exact", "__sys__x", "STOCK", False),
        ("pattern", "#", "NEWS", True),
        ("pattern", "+/1", "NEWS", True),
        ("pattern", "other/#", "NEWS", False),
        ("pattern", "__sys__#", "STOCK", False),
        ("xpath", "/key", "NEWS", True),
        ("inbox", "", "", False),
        ("replies", "", "", False),
    ],
)
def test_which_queries_can_it_reach(kind: str, text: str, domain: str, is_reached: bool) -> None:
    site = Accepting(From(accepts=Accepts(("STOCK",), ("sensors/#",))))
    assert site.may_reach(Query(kind, text, domain)) is is_reached
    assert not Accepting(From(domains=("STOCK",), one_way=True)).may_reach(Query(kind, text, domain))
