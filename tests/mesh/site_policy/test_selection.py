"""The sites to which a message is sent."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from mesh.patterns import matches
from mesh.site_policy.selection import Selection, is_own
from tests.each import each

STAYS = 2


@dataclass(frozen=True)
class To:
    name: str
    domains: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()


LEVELS = st.lists(st.sampled_from(["a", "b", "__sys__x"]), min_size=1, max_size=3)
TOPICS = LEVELS.map("/".join)
PATTERNS = st.builds(
    lambda levels, end: "/".join([*levels, *end]),
    st.lists(st.sampled_from(["a", "b", "+"]), min_size=1, max_size=3),
    st.sampled_from([[], ["#"]]),
)
DOMAINS = st.sampled_from(["", "STOCK", "NEWS", "queue/x"])
SITES = st.lists(
    st.builds(
        To,
        st.sampled_from(["LON", "NYC", "SFO", "HKG"]),
        st.lists(DOMAINS, max_size=2).map(tuple),
        st.lists(PATTERNS, max_size=3).map(tuple),
    ),
    max_size=4,
    unique_by=lambda site: site.name,
)


@given(SITES, DOMAINS, TOPICS)
def test_the_index_says_what_going_through_all_sites_says(sites: list[To], domain: str, topic: str) -> None:
    wanted = [
        site.name
        for site in sites
        if domain in site.domains or any(matches(pattern, topic) for pattern in site.topics)
    ]
    if topic.startswith("__sys__") or domain == "queue/x":
        wanted = []
    assert Selection.of(sites, STAYS).sites_for(domain, topic) == tuple(sorted(wanted))


def test_what_names_nothing_selects_nothing() -> None:
    assert not Selection.of([To("NYC")])
    assert Selection.of([To("NYC")]).sites_for("STOCK", "a") == ()
    assert Selection.of([To("NYC", topics=("#",))])
    assert Selection.of([To("NYC", domains=("",))]).sites_for("", "a") == ("NYC",)


def test_what_is_flagged_to_stay_leaves_no_site_whatever_other_flags_it_has() -> None:
    selection = Selection.of([To("NYC", ("STOCK",), ("#",))], STAYS)
    assert selection.sites_for("STOCK", "a", flags=1) == ("NYC",)
    assert selection.sites_for("STOCK", "a", flags=1 | STAYS) == ()


@each("domain", ["address/", "queue/orders", "map/prices", "lock", "__sys__x", "site/LON"])
def test_domains_of_the_meshs_own_never_leave_a_site_even_when_they_are_named(domain: str) -> None:
    assert is_own(domain)
    assert Selection.of([To("NYC", (domain,), ("#",))]).sites_for(domain, "a") == ()


@each("domain", ["", "STOCK", "queues", "mapped/x", "my/queue"])
def test_other_domains_are_the_users(domain: str) -> None:
    assert not is_own(domain)


def test_what_the_mesh_says_of_itself_never_leaves_a_site() -> None:
    selection = Selection.of([To("NYC", ("",), ("#", "__sys__/#"))])
    assert selection.sites_for("", "__sys__/x") == ()


def test_a_site_that_is_named_by_domain_and_by_topic_is_one() -> None:
    selection = Selection.of([To("NYC", ("D",), ("a", "#")), To("HKG", ("D",))])
    assert selection.sites_for("D", "a") == ("HKG", "NYC")
