"""Envelopes from another site: the rights to enter, and to pass through."""

from typing import Any

import pytest
from msgspec.structs import replace

from mesh.features.sites.node.arrivals import NeighbourSite, unfit, unfit_to_pass
from mesh.features.sites.node.passing import leaving, passing
from mesh.kernel.context.node_clock import AHEAD
from mesh.patterns import SYSTEM
from mesh.values import Hop
from mesh.wire.envelope import EVERY, INITIAL, Envelope
from mesh.wire.limits import HOPS
from tests.each import each
from tests.mesh.envelopes import envelope

NOW = 10**18
LON = "/site/LON/node/bilbo/client/joe/session/1"


class Stock:
    """The rights of a site: it may write to STOCK/…, and to all of the domain `quotes`."""

    def may_write(self, domain: str, topic: str) -> bool:
        return domain == "quotes" or topic.startswith("STOCK/")

    def may_pass(self, site: str) -> bool:
        return site in ("SFO", "HKG")

    def may_write_to(self, client: str) -> bool:
        return client == "ann"


def came_by(name: str, *behind: str) -> NeighbourSite:
    """Return the neighbor `name`, through which the sites `behind` are reached."""
    sites = (name, *behind)
    return NeighbourSite(name, "gull", dict.fromkeys(sites, Stock()), dict.fromkeys(sites, name))


CAME = came_by("LON")


def from_lon(keys: str = "STOCK/1", domain: str = "") -> Envelope:
    it = replace(envelope(keys, domain=domain), sender=LON.removeprefix("/site/LON"))
    it = replace(it, route=(Hop("bilbo", 1, 1),)).mastered(NOW, Hop("heron", 0, 2))
    return leaving(it, "LON", 1, gateway=Hop("sam", 0, 3))


def code(it: Envelope, came: NeighbourSite = CAME, here: str = "NYC") -> str:
    error = unfit(it, came, here, NOW)
    return error.code if error is not None else ""


def test_what_it_may_write_comes_in() -> None:
    assert code(from_lon()) == code(from_lon("STOCK/1 STOCK/2")) == code(from_lon("anything", "quotes")) == ""


@pytest.mark.parametrize("keys", ["private/1", "STOCK/1 private/1", f"{SYSTEM}cluster.node.master[x]"])
def test_what_it_may_not_write_does_not(keys: str) -> None:
    error = unfit(from_lon(keys), CAME, "NYC", NOW)
    assert error is not None and error.code == "NO_RIGHT"
    assert keys.split()[-1] in error.what
    where = "[sites.LON] at the site NYC, in mesh.toml of the node gull"  # LON reads this hint
    assert error.hint == f"See `accepts` in {where}."


@pytest.mark.parametrize(
    ("to", "refused"),
    [
        ("client/joe", "FORGED_SENDER"), ("/node/x/client/joe", "SITE_UNREACHABLE"),
        ("queue/orders", "FORGED_SENDER"), ("calc/add", "FORGED_SENDER"), ("", "NO_RIGHT"),
        ("/site/SFO/node/x/client/joe", "SITE_UNREACHABLE"), ("/site/NYC/client/joe", "NO_RIGHT"),
            ("/site/NYC/client/ann", ""),
        ("/site/NYC/node/x/client/joe", "NO_RIGHT"), ("/site/NYC/node/x/client/ann", ""),
        ("/site/NYC/node/x/client/ann/session/-7", ""),
        ("/site/NYC/node/x/client/ann/session/0", "FORGED_SENDER"),
        ("/site/NYC/node/x/client/__sys__", "NO_RIGHT"),
    ],
)  # fmt: skip
def test_a_letter_is_for_a_client_here_that_gets_some(to: str, refused: str) -> None:
    assert code(replace(from_lon("private"), to=to)) == refused


@each(
    "changes",
    [
        {"domain": "queue/a"}, {"domain": "__sys__x"}, {"domain": "site/NYC"}, {"keys": ("__sys__dead[x]",)},
        {"flags": INITIAL}, {"sender": "/site/SFO/node/heron/client/joe/session/1"}, {"route": ()},
    ],
)  # fmt: skip
def test_a_letter_is_in_no_domain_and_by_nobody_of_the_meshs_own(changes: dict[str, Any]) -> None:
    assert code(replace(from_lon(), to="/site/NYC/node/x/client/ann", **changes)) in (
        "NO_RIGHT",
        "FORGED_SENDER",
    )


def hops(*names: str, stratum: int = 0) -> tuple[Hop, ...]:
    return tuple(Hop(name, stratum, 1) for name in names)


@pytest.mark.parametrize(
    "changes",
    [
        {"sender": ""},
        {"sender": "/node/bilbo/client/joe/session/1"},
        {"sender": "/site/LON/node/bilbo/client/joe"},
        {"sender": "/site/LON/node/other/client/joe/session/1"},
        {"sender": f"/site/LON/node/bilbo/client/{SYSTEM}/session/1"},
        {"sender": LON.replace("LON", "NYC")},
        {"sender": LON.replace("LON", "SFO"), "route": hops("site:SFO/bilbo", "site:LON/heron")},
        {"sender": "x" * 10_000},
        {"route": ()},
        {"route": hops("bilbo", "site:LON/heron")},
        {"route": hops("site:LON/bilbo", "heron")},
        {"route": hops("site:LON/bilbo", "site:SFO/heron")},
        {"route": hops("site:LON/bilbo", "site:SFO/heron", "site:LON/sam")},
        {"route": hops("site:LON/bilbo", "site:LON/")},
        {"route": hops("site:LON/bilbo", "site:LON/heron", stratum=1)},
        {"flags": INITIAL, "to": "calc/sum"},
        {"flags": EVERY},
        {"flags": 2**40},
        {"sent": 0},
        {"numbers": (1, 1)},
    ],
    ids=str,
)
def test_what_no_gateway_writes_is_forged(changes: dict[str, object]) -> None:
    assert code(replace(from_lon(), **changes)) == "FORGED_SENDER"


def test_a_site_speaks_for_those_that_are_reached_by_it_and_for_no_other() -> None:
    it = leaving(from_lon(), "NET1", 1, gateway=Hop("x", 0, 1))
    assert code(it, came_by("NET1", "LON")) == ""
    assert code(it, came_by("NET1")) == "FORGED_SENDER"
    assert code(it, replace_ways(came_by("NET1", "LON"), {"LON": "LON"})) == "FORGED_SENDER"
    assert code(it, came_by("LON", "NET1")) == "FORGED_SENDER"


@pytest.mark.parametrize("here", ["LON", "NET1"])
def test_a_site_where_it_was_does_not_take_it_again(here: str) -> None:
    it = leaving(from_lon(), "NET1", 1, gateway=Hop("x", 0, 1))
    came = came_by("NET1", "LON")
    error = unfit(it, came, here, NOW)
    assert error is not None and error.code == "CIRCULAR_LOOP" and f"LON -> NET1 -> {here}" in error.what


def test_what_went_round_elsewhere_does_not_come_in() -> None:
    it = leaving(leaving(from_lon(), "NET1", 1, gateway=Hop("x", 0, 1)), "LON", 1)
    it = replace(it, route=(*it.route, *hops("site:LON/heron")))
    assert code(it, came_by("LON", "NET1")) == "CIRCULAR_LOOP"


def test_what_came_too_far_does_not_come_in() -> None:
    far = from_lon()
    most = hops(*(f"site:LON/n{i}" for i in range(HOPS - 1 - len(far.route))))
    assert code(replace(far, route=(*far.route, *most))) == ""
    assert code(replace(far, route=(*far.route, *most, *most[:1]))) == "TOO_MANY_HOPS"


def test_a_stamp_is_refused_rather_than_replaced_when_its_clock_is_far_ahead() -> None:
    assert code(replace(from_lon(), sent=NOW + AHEAD - 1)) == ""
    error = unfit(replace(from_lon(), sent=NOW + AHEAD), CAME, "NYC", NOW)
    assert error is not None and error.code == "CLOCK_AHEAD"
    assert f"the site LON is 60 s ahead of the clock of {CAME.node}" in error.what


# --- envelopes that only pass through -------------------------------------------------------------------


def passes(it: Envelope, to: str = "SFO", came: NeighbourSite = CAME, **ways: str) -> str:
    known = replace_ways(came, ways or {"SFO": "SFO", "HKG": "SFO", "ROM": "ROM"})
    error = unfit_to_pass(it, known, "NYC", to)
    return error.code if error is not None else ""


def replace_ways(came: NeighbourSite, more: dict[str, str]) -> NeighbourSite:
    return NeighbourSite(came.name, came.node, came.rights, {**came.ways, **more})


def test_what_may_be_passed_on_goes_whatever_it_may_write_here_and_whatever_its_clock_says() -> None:
    it = replace(from_lon("private/1"), sent=NOW + AHEAD + 1)
    assert passes(it) == passes(it, "HKG") == passes(replace(it, flags=INITIAL)) == ""


def test_nothing_passes_to_a_site_that_is_not_served_and_none_of_a_site_that_lies() -> None:
    assert passes(from_lon(), "ROM") == passes(from_lon(), "x" * 64) == "NO_RIGHT"
    assert passes(from_lon(), "") == "NO_RIGHT"
    assert passes(replace(from_lon(), sender=LON.replace("LON", "SFO"))) == "FORGED_SENDER"
    assert passes(from_lon(), came=came_by("NET1")) == "FORGED_SENDER"


def test_the_right_is_that_of_the_site_where_it_is_from() -> None:
    came = came_by("NET1", "LON")
    it = passing(from_lon(), "NET1", Hop("x", 0, 1))
    assert passes(it, came=came) == ""
    bad = NeighbourSite("NET1", "gull", {**came.rights, "LON": Nothing()}, came.ways)
    error = unfit_to_pass(it, replace_ways(bad, {"SFO": "SFO"}), "NYC", "SFO")
    assert (
        error is not None
        and error.code == "NO_RIGHT"
        and "`serves` in [sites.LON] at the site NYC, in mesh.toml" in error.hint
    )


class Nothing(Stock):
    def may_pass(self, site: str) -> bool:
        return False


def test_it_waits_while_no_way_is_known() -> None:
    assert passes(from_lon(), "HKG", SFO="SFO") == "SITE_UNREACHABLE"


@pytest.mark.parametrize("ways", [{"SFO": "LON"}, {"SFO": "NET1"}], ids=str)
def test_no_way_leads_back_to_where_it_was(ways: dict[str, str]) -> None:
    it = passing(from_lon(), "NET1", Hop("x", 0, 1))
    assert passes(it, came=came_by("NET1", "LON"), **ways) == "CIRCULAR_LOOP"


def test_what_has_passed_by_too_many_nodes_does_not_go_on() -> None:
    it = from_lon()
    most = hops(*(f"site:LON/n{i}" for i in range(HOPS - 1 - len(it.route))))
    assert passes(replace(it, route=(*it.route, *most))) == ""
    assert passes(replace(it, route=(*it.route, *most, *most[:1]))) == "TOO_MANY_HOPS"


def test_whoever_has_another_way_to_it_is_told_which() -> None:
    it = passing(from_lon(), "NET1", Hop("x", 0, 1))
    error = unfit(it, replace_ways(came_by("NET1", "LON"), {"LON": "NET2"}), "NYC", NOW)
    assert error is not None and error.code == "FORGED_SENDER"
    assert "reaches LON through NET2: compare `via` in [sites.LON]" in error.hint


def test_a_letter_from_the_future_or_that_is_put_somewhere_is_refused_for_good() -> None:
    letter = replace(from_lon(), to="/site/NYC/node/x/client/ann")
    assert code(letter) == ""
    assert code(replace(letter, sent=NOW + AHEAD + 1)) == "CLOCK_AHEAD"
    assert code(replace(letter, put=(1, 2, "group"))) == "FORGED_SENDER"
