"""The members of other sites, and reports of their changes."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from mesh.features.sites.model.views import DEBOUNCE, GRACE, MOST, SiteMember, SiteNews, SiteViews

K, L = b"k" * 16, b"l" * 16
HERON, CRANE = SiteMember("heron"), SiteMember("crane", b"c" * 16)


def views(*sites: str) -> SiteViews:
    return SiteViews(sites or ("NYC",), 0.0)


def up(now: float = 0.0) -> SiteViews:
    """Return views in which site NYC is up, after that was reported."""
    seen = views()
    seen.record_report(K, "NYC", [HERON], now)
    assert seen.tick(now + DEBOUNCE) == [SiteNews("site-up", "NYC")]
    return seen


def test_a_site_is_reached_at_once_and_told_to_be_up_when_it_stays_so() -> None:
    seen = views()
    seen.record_report(K, "NYC", [HERON], 5.0)
    assert seen.is_reachable("NYC")
    assert seen.deadline() == 5.0 + DEBOUNCE
    assert seen.tick(5.9) == []
    assert seen.tick(6.0) == [SiteNews("site-up", "NYC")]
    assert seen.tick(9.0) == []
    assert seen.deadline() is None


def test_a_site_that_is_never_heard_of_is_told_to_be_unreachable_once() -> None:
    seen = views()
    assert not seen.is_reachable("NYC")
    assert seen.tick(GRACE - 0.1) == []
    assert seen.tick(GRACE) == [SiteNews("site-unreachable", "NYC")]
    assert seen.tick(GRACE * 9) == []


def test_another_gateway_takes_over_and_nothing_is_told() -> None:
    seen = up()
    seen.drop_gateway(K, 10.0)
    assert not seen.is_reachable("NYC")
    seen.record_report(L, "NYC", [HERON], 12.0)
    assert seen.is_reachable("NYC")
    assert seen.tick(100.0) == []


def test_a_site_without_gateways_is_unreachable_at_once_and_told_so_after_the_grace() -> None:
    seen = up()
    seen.drop_gateway(K, 10.0, "NYC")
    assert seen.view("NYC") == ("NYC", "unreachable", (), 10.0)
    assert not seen.has_member("NYC", "heron")
    assert seen.tick(10.0 + GRACE - 0.1) == []
    assert seen.tick(10.0 + GRACE) == [SiteNews("site-unreachable", "NYC")]
    seen.record_report(K, "NYC", [HERON], 50.0)
    assert seen.tick(50.0 + DEBOUNCE) == [SiteNews("site-up", "NYC")]


def test_a_site_that_says_it_goes_is_down_at_once_and_never_unreachable() -> None:
    seen = up()
    seen.record_report(K, "NYC", [HERON], 10.0, leaving=True)
    assert not seen.is_reachable("NYC")
    assert seen.tick(10.0) == [SiteNews("site-down", "NYC")]
    seen.drop_gateway(K, 10.5)
    assert seen.view("NYC") == ("NYC", "down", (), 10.0)
    assert seen.tick(1000.0) == []


def test_a_site_is_not_down_while_one_of_two_gateways_still_goes_on() -> None:
    seen = up()
    seen.record_report(L, "NYC", [HERON], 2.0)
    seen.record_report(K, "NYC", [HERON], 3.0, leaving=True)
    assert seen.is_reachable("NYC")
    seen.drop_gateway(K, 4.0)
    assert seen.is_reachable("NYC")
    assert seen.tick(100.0) == []


def test_losing_the_link_with_one_site_says_nothing_of_another() -> None:
    seen = views("NYC", "SFO")
    for site in ("NYC", "SFO"):
        seen.record_report(K, site, [HERON], 0.0)
    seen.drop_gateway(K, 1.0, "SFO")
    assert seen.is_reachable("NYC")
    assert not seen.is_reachable("SFO")
    seen.drop_gateway(K, 2.0)
    assert not seen.is_reachable("NYC")


def test_members_are_gateways_by_uuid_then_names_and_each_is_there_once() -> None:
    seen = views()
    seen.record_report(K, "NYC", [SiteMember("stork", b"b" * 16), HERON, CRANE], 0.0)
    seen.record_report(L, "NYC", [SiteMember("adler"), HERON, SiteMember("crane")], 0.0)
    assert seen.all() == (("NYC", "up", ("stork", "crane", "adler", "heron"), 0.0),)
    assert seen.has_member("NYC", "adler")
    assert not seen.has_member("NYC", "owl")


def test_sites_that_are_not_configured_are_not_known_and_nobody_makes_them_many() -> None:
    seen = views()
    seen.record_report(K, "EVIL", [HERON], 0.0)
    assert seen.view("EVIL") is None
    assert not seen.is_reachable("EVIL")
    seen.record_report(K, "NYC", (SiteMember(f"n{i}") for i in range(MOST + 10)), 0.0)
    assert len(seen.all()[0].members) == MOST


def test_a_site_that_is_configured_no_more_is_forgotten_and_others_stay_as_they_are() -> None:
    seen = up()
    seen.set_sites(["SFO", "NYC"], 20.0)
    assert seen.is_reachable("NYC")
    assert [view.site for view in seen.all()] == ["NYC", "SFO"]
    seen.set_sites(["SFO"], 21.0)
    assert seen.view("NYC") is None
    assert seen.tick(20.0 + GRACE) == [SiteNews("site-unreachable", "SFO")]


def test_a_site_that_another_gateway_here_reaches_is_told_to_be_unreachable_once_that_one_does_not() -> None:
    seen = up()
    seen.drop_gateway(K, 10.0)
    seen.reached(lambda site: site == "NYC", 10.5)
    assert seen.tick(100.0) == [] and seen.deadline() is None
    assert seen.view("NYC") == ("NYC", "unreachable", (), 10.0)  # as this gateway sees the site
    seen.reached(lambda site: False, 100.0)
    assert seen.deadline() == 100.0 + GRACE and seen.tick(114.9) == []
    assert seen.tick(115.0) == [SiteNews("site-unreachable", "NYC")]
    seen.reached(lambda site: True, 200.0)
    assert seen.tick(200.0 + DEBOUNCE) == [SiteNews("site-up", "NYC")]
    seen.record_report(K, "NYC", [HERON], 210.0)
    assert seen.tick(300.0) == []


def test_a_site_that_went_down_is_heard_of_again_when_another_gateway_here_reaches_it() -> None:
    seen = up()
    seen.reached(lambda site: True, 2.0)
    seen.record_report(K, "NYC", [HERON], 10.0, leaving=True)
    seen.reached(lambda site: True, 10.0)  # the other gateway has not noticed yet
    seen.drop_gateway(K, 10.5)
    assert seen.tick(10.5) == [SiteNews("site-down", "NYC")]
    seen.reached(lambda site: False, 11.0)
    assert seen.tick(100.0) == []
    seen.reached(lambda site: True, 100.0)
    assert seen.tick(101.0) == [SiteNews("site-up", "NYC")]
    seen.reached(lambda site: False, 110.0)
    assert seen.tick(110.0 + GRACE) == [SiteNews("site-unreachable", "NYC")]


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["heard", "leaving", "lost", "wait", "reached", "not"]),
        st.sampled_from([K, L]),
        st.floats(0, 20),
    ),
    max_size=30,
)


@given(STEPS)
def test_nothing_is_told_twice_in_a_row_and_the_last_word_is_what_is(
    steps: list[tuple[str, bytes, float]],
) -> None:
    seen, now, told, is_reached = views(), 0.0, list[str](), False
    for kind, gateway, wait in steps:
        if kind == "lost":
            seen.drop_gateway(gateway, now)
        elif kind in ("reached", "not"):
            is_reached = kind == "reached"
            seen.reached(lambda site, is_reached=is_reached: is_reached, now)  # type: ignore[misc]
        elif kind != "wait":
            seen.record_report(gateway, "NYC", [HERON], now, leaving=kind == "leaving")
        now += wait
        told += [news.event for news in seen.tick(now)]
    told += [news.event for news in seen.tick(now + GRACE)]
    assert all(one != other for one, other in pairwise(told))
    view = seen.view("NYC")
    assert view is not None
    assert told[-1] == f"site-{'up' if view.state == 'unreachable' and is_reached else view.state}"
    assert seen.deadline() is None


def test_a_link_that_flaps_makes_no_storm() -> None:
    seen = up()
    told = []
    for second in range(2, 200, 2):
        seen.drop_gateway(K, float(second))
        told += seen.tick(second + 0.5)
        seen.record_report(K, "NYC", [HERON], second + 1.0)
        told += seen.tick(second + 1.5)
    assert told == []
