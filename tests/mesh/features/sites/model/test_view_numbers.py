"""The numbers of views: of each site, and of all sites together."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from mesh.features.sites.model.view_numbers import ViewChange, ViewNumbers

SITES, NODES = ("HF", "LON", "NYC"), "abcd"


def test_003_14_each_changed_site_gets_its_next_number_and_the_next_one_of_all() -> None:
    numbers = ViewNumbers()
    assert numbers.update({"NYC": ["gull"], "LON": ["heron"], "HF": []}) == [
        ViewChange(1, "LON", 1, 1, ("heron",), (), is_merge=False),
        ViewChange(2, "NYC", 1, 1, ("gull",), (), is_merge=False),
    ]
    assert numbers.update({"LON": ["heron"], "NYC": ["gull"]}) == []
    assert numbers.update({"LON": ["heron"], "NYC": ["tern", "auk", "tern"]}) == [
        ViewChange(3, "NYC", 2, 2, ("auk", "tern"), ("gull",), is_merge=False)
    ]


def test_003_14_a_site_that_returns_after_an_empty_view_is_merged() -> None:
    numbers = ViewNumbers()
    numbers.update({"NYC": ["gull"]})
    assert numbers.update({"NYC": []}) == [ViewChange(2, "NYC", 2, 0, (), ("gull",), is_merge=False)]
    assert numbers.update({"NYC": ["gull"]}) == [ViewChange(3, "NYC", 3, 1, ("gull",), (), is_merge=True)]


def test_a_site_that_is_configured_no_more_leaves_and_its_numbers_are_not_used_again() -> None:
    numbers = ViewNumbers()
    numbers.update({"LON": ["heron"], "NYC": ["gull"]})
    [gone] = numbers.update({"LON": ["heron"]})
    assert (gone.number, gone.site, gone.site_number, gone.left) == (3, "NYC", 2, ("gull",))
    assert numbers.update({"LON": ["heron"]}) == []
    [back] = numbers.update({"LON": ["heron"], "NYC": ["gull"]})
    assert (back.number, back.site_number) == (4, 3)


views = st.dictionaries(st.sampled_from(SITES), st.lists(st.sampled_from(NODES)))


@given(st.lists(views, max_size=12))
def test_numbers_have_no_gap_and_the_changes_lead_from_each_view_to_the_next(
    seen: list[dict[str, list[str]]],
) -> None:
    numbers, known = ViewNumbers(), {site: set[str]() for site in SITES}
    changes = list[ViewChange]()
    for each in seen:
        for change in numbers.update(each):
            changes.append(change)
            members = known[change.site]
            assert not members & set(change.joined) and members >= set(change.left)
            members |= set(change.joined)
            members -= set(change.left)
            assert len(members) == change.members
        assert known == {site: set(each.get(site, ())) for site in SITES}
    for site in (*SITES, ""):
        of_site = [c.site_number if site else c.number for c in changes if site in ("", c.site)]
        assert of_site == list(range(1, len(of_site) + 1))
    assert all(one.number < two.number for one, two in pairwise(changes))
