"""Does nothing come in from another site but what it may say here?"""

from typing import Any

import pytest
from msgspec.structs import replace

from mesh.core.sites.arrivals import AHEAD, Neighbour, unfit
from mesh.core.sites.passing import leaving
from mesh.patterns import SYSTEM
from mesh.values import Hop
from mesh.wire.envelope import EVERY, INITIAL, Envelope
from mesh.wire.limits import HOPS
from tests.mesh.envelopes import envelope

NOW = 10**18
LON = "/site/LON/node/bilbo/client/joe/session/1"


class Stock:
    """It may write to STOCK/…, and to all of the domain `quotes`."""

    def may_write(self, domain: str, topic: str) -> bool:
        return domain == "quotes" or topic.startswith("STOCK/")

    def may_write_to(self, client: str) -> bool:
        return client == "ann"


CAME = Neighbour("LON", Stock())


def from_lon(keys: str = "STOCK/1", domain: str = "") -> Envelope:
    it = replace(envelope(keys, domain=domain), sender=LON.removeprefix("/site/LON"))
    it = replace(it, route=(Hop("bilbo", 1, 1),)).mastered(NOW, Hop("heron", 0, 2))
    return leaving(it, "LON", 1, gateway=Hop("sam", 0, 3))


def code(it: Envelope, came: Neighbour = CAME, here: str = "NYC") -> str:
    error = unfit(it, came, here, NOW)
    return error.code if error is not None else ""


def test_what_it_may_write_comes_in() -> None:
    assert code(from_lon()) == code(from_lon("STOCK/1 STOCK/2")) == code(from_lon("anything", "quotes")) == ""


@pytest.mark.parametrize("keys", ["private/1", "STOCK/1 private/1", f"{SYSTEM}cluster.node.master[x]"])
def test_what_it_may_not_write_does_not(keys: str) -> None:
    error = unfit(from_lon(keys), CAME, "NYC", NOW)
    assert error is not None and error.code == "NO_RIGHT"
    assert keys.split()[-1] in error.what and "[sites.LON]" in (error.hint or "")


@pytest.mark.parametrize(
    ("to", "refused"),
    [
        ("client/joe", "FORGED_SENDER"), ("/node/x/client/joe", "SITE_UNREACHABLE"),
        ("queue/orders", "FORGED_SENDER"), ("calc/add", "FORGED_SENDER"), ("", "NO_RIGHT"),
        ("/site/SFO/node/x/client/joe", "SITE_UNREACHABLE"), ("/site/NYC/client/joe", "FORGED_SENDER"),
        ("/site/NYC/node/x/client/joe", "NO_RIGHT"), ("/site/NYC/node/x/client/ann", ""),
        ("/site/NYC/node/x/client/ann/session/-7", ""),
        ("/site/NYC/node/x/client/ann/session/0", "FORGED_SENDER"),
        ("/site/NYC/node/x/client/__sys__", "NO_RIGHT"),
    ],
)  # fmt: skip
def test_a_letter_is_for_a_client_here_that_gets_some(to: str, refused: str) -> None:
    assert code(replace(from_lon("private"), to=to)) == refused


@pytest.mark.parametrize(
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
    assert code(it, Neighbour("NET1", Stock(), behind={"LON"})) == ""
    assert code(it, Neighbour("NET1", Stock())) == "FORGED_SENDER"
    assert code(it, Neighbour("LON", Stock(), behind={"NET1"})) == "FORGED_SENDER"


@pytest.mark.parametrize("here", ["LON", "NET1"])
def test_a_site_where_it_was_does_not_take_it_again(here: str) -> None:
    it = leaving(from_lon(), "NET1", 1, gateway=Hop("x", 0, 1))
    came = Neighbour("NET1", Stock(), behind={"LON"})
    error = unfit(it, came, here, NOW)
    assert error is not None and error.code == "CIRCULAR_LOOP" and f"LON -> NET1 -> {here}" in error.what


def test_what_went_round_elsewhere_does_not_come_in() -> None:
    it = leaving(leaving(from_lon(), "NET1", 1, gateway=Hop("x", 0, 1)), "LON", 1)
    it = replace(it, route=(*it.route, *hops("site:LON/heron")))
    assert code(it, Neighbour("LON", Stock(), behind={"NET1"})) == "CIRCULAR_LOOP"


def test_what_came_too_far_does_not_come_in() -> None:
    far = from_lon()
    most = hops(*(f"site:LON/n{i}" for i in range(HOPS - 1 - len(far.route))))
    assert code(replace(far, route=(*far.route, *most))) == ""
    assert code(replace(far, route=(*far.route, *most, *most[:1]))) == "TOO_MANY_HOPS"


def test_a_stamp_is_refused_rather_than_replaced_when_its_clock_is_far_ahead() -> None:
    assert code(replace(from_lon(), sent=NOW + AHEAD)) == ""
    error = unfit(replace(from_lon(), sent=NOW + AHEAD + 1), CAME, "NYC", NOW)
    assert error is not None and error.code == "CLOCK_AHEAD" and "600 s ahead" in error.what
