"""The laws of messages to other sites: the violations that they find, and the excuses that they accept."""

from dataclasses import replace
from random import Random

import pytest

from mesh.names import SENDS
from tests.tools.abroad_cases import ANN, BOB, FACTS, INBOX, asked, came, ended, letter, read, said
from tests.tools.simulator.checks.test_checks import history
from tests.tools.site_cases import S
from tools.simulator import abroad, sites
from tools.simulator.checks import CHECKS
from tools.simulator.checks.sites import within
from tools.simulator.history import Event
from tools.simulator.profiles import PROFILES
from tools.simulator.writing import written

STRANGER = "/node/c/client/eve/session/1"
EVE = (replace(INBOX[0], who="client eve"), replace(INBOX[1], who="client eve", to=STRANGER))
TO_EVE = "/site/NYC/node/c/client/eve"
SAID = Event(51.5, "said", "client ann", stream=S, domain=SENDS, first=1, last=1, text="NO_HANDLERS")


def facts_with_eve() -> object:
    lon, nyc = FACTS.sites
    return replace(FACTS, sites=(lon, replace(nyc, members=nyc.members | {"client eve"})))


@pytest.mark.parametrize(
    ("check", "events", "found"),
    [
        ("S-letters", (*INBOX, letter(), said(), read(), read(53.0)), 1),  # twice
        ("S-letters", (*INBOX, letter(), said("NO_RIGHT"), read()), 1),
        ("S-letters", (*INBOX, letter(), said("FORWARD_WARNING"), read()), 0),
        ("S-letters", (*INBOX, letter(), said("UNKNOWN_NODE"), read()), 0),  # the node was lost
        ("S-letters", (*INBOX, letter(""), said("NO_RIGHT"), read()), 1),
        ("S-letters", (*INBOX, letter(""), Event(50.5, "crash", "a", 1), said("NO_RIGHT"), read()), 0),
        ("S-letters", (*INBOX, letter(), Event(51.5, "crash", "a", 1), said("SITE_UNREACHABLE"), read()), 0),
        ("S-letters", (*INBOX, letter(), said("FORWARD_WARNING", 50.2), Event(51.5, "crash", "a", 1),
                       said("SITE_UNREACHABLE"), read()), 1),  # it had reported that it waits
        ("S-letters", (*INBOX, letter(), said("SITE_UNREACHABLE"), read()), 1),
        ("S-letters", (*INBOX, letter(""), said()), 0),
        ("S-letters", (letter(), said()), 0),  # no client reads there
        ("S-letters", (*INBOX, letter(), said("STORE_FULL")), 0),
        ("S-letters", (*INBOX, letter(), said(), read(text="y")), 1),
        ("S-letters", (*INBOX, letter(), said(), read(sender=f"/site/LON{STRANGER}")), 1),
        ("S-letters", (*INBOX, letter(), read(), read(stream="7" * 32)), 1),  # no client sent it
        ("S-letters", (*INBOX, letter(to=TO_EVE), read()), 1),  # Bob receives it
        ("S-letters", (*INBOX, letter(to=f"/site/NYC{BOB}"), said(), read()), 0),
        ("S-letters", (*INBOX, letter(to=f"/site/NYC{BOB}1"), said(), read()), 1),
        ("S-asked", (asked(), came(), came(51.5), ended()), 1),
        ("S-asked", (asked(), came(stream="7" * 32), ended("TIMEOUT")), 1),  # no client sent it
        ("S-asked", (asked(), ended(), came()), 0),
        ("S-asked", (asked(), came(), ended(), ended("TIMEOUT", 55.0)), 1),
        ("S-asked", (asked(), came(), ended("TIMEOUT", 60.0)), 1),  # too late
        ("S-asked", (asked(), came(), ended(by=f"/site/NYC{STRANGER}")), 1),
        ("S-asked", (asked(), came(), ended(by=BOB)), 0),
        ("S-asked", (asked(), came(), SAID, ended("TIMEOUT", 55.0)), 1),
        ("S-asked", (asked(), came(), ended("SITE_UNREACHABLE")), 1),
        ("S-asked", (asked(), came(), ended("HANDLER_LOST"), Event(51.0, "fault", "c", text="kill")), 0),
        ("S-asked", (asked(to="/site/SFO/calc/add"), ended("SITE_UNREACHABLE")), 0),  # no such site
        ("S-asked", (asked(to="/site/LON/calc"), ended("OK", by=f"/site/LON{ANN}"),
                     replace(came(to="calc", stream=S), who="client ann", keys=(ANN, ""))), 0),
        ("S-leave", (*EVE, letter(to=TO_EVE), replace(read(), who="client eve")), 1),
        ("S-leave", (asked(to="/site/NYC/calc/x/y"), came(to="calc/x/y")), 0),
        ("S-leave", (asked(to="/site/LON/print"),
                     replace(came(to="print", stream=S), who="client ann", keys=(ANN, ""))), 0),  # at home
    ],
)  # fmt: skip
def test_each_law_of_what_goes_to_other_sites_knows_its_excuses(
    check: str, events: tuple[Event, ...], found: int
) -> None:
    told = history(tuple(sorted(events, key=lambda e: e.at)))
    assert len(CHECKS[check](told, facts_with_eve())) == found  # type: ignore[arg-type]


def test_what_goes_to_another_site_is_not_judged_by_the_laws_of_one() -> None:
    events = (letter(), said(), asked(), came(), ended(), read())
    local = (replace(letter(), first=2, last=2, to="/node/a/client/x"), replace(asked(to="calc"), first=2))
    kept = [within(history((*events, *local)), site).events for site in FACTS.sites]
    assert kept == [list(local), []]


def test_clients_of_a_scenario_stay_in_their_site_and_each_site_says_what_others_may() -> None:
    kinds, letters, serves = set(), set(), set()
    for seed in range(20):
        script = written(seed, PROFILES["abroad"])
        homes = {
            step.args[0]: script.cast.site_of(str(step.args[1]))
            for step in script.steps
            if step.kind == "client"
        }
        for step in script.steps:
            kinds.add(step.kind)
            if step.kind == "visit":
                assert script.cast.site_of(str(step.args[1])) is homes[step.args[0]]
        for place in script.cast.sites:
            tables = script.cast.others(place)
            letters |= {table.letters == ("#",) for table in tables}
            serves |= {table.serves for table in tables}
            assert [t.letters for t in tables] == [sends.letters for sends in place.sends]
    assert {"send", "request", "tell", "gather", "serve", "unserve", "open inbox"} <= kinds
    assert letters == {True, False} and () in serves and ("calc/#",) in serves


def test_scenarios_of_sites_that_do_not_write_are_as_they_were() -> None:
    cast = sites.drawn(Random(3), (2, 3))
    assert all(not sends.letters and not sends.serves for place in cast.sites for sends in place.sends)
    assert abroad.with_leave(cast, Random(3)).nodes == cast.nodes
    kinds = {step.kind for step in written(3, PROFILES["sites"]).steps}
    assert not kinds & {"send", "request", "serve"}
