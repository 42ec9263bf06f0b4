"""Histories of direct messages and requests between sites that keep each promise, and some that break it.

LON and NYC are as in site_cases. NYC lets LON write to Bob, and ask for calc/#.
"""

from dataclasses import replace
from typing import Any

from mesh.names import SENDS
from tests.tools import site_cases
from tests.tools.site_cases import LON, NYC, S_THERE, SESSION, S
from tools.simulator.checks.facts import Facts
from tools.simulator.history import Event

LETS = replace(NYC, sends=(replace(NYC.sends[0], letters=("bob",), serves=("calc/#",)),))
FACTS = replace(
    site_cases.FACTS,
    sites=tuple(
        replace(site, place=place) for site, place in zip(site_cases.FACTS.sites, (LON, LETS), strict=True)
    ),
)
ANN, BOB = "/node/a/client/ann/session/1", "/node/c/client/bob/session/1"
INBOX = (Event(40.0, "sub", "client bob", flags="inbox"), Event(41.0, "confirmed", "client bob", to=BOB))


def letter(flags: str = "p", to: str = "/site/NYC/node/c/client/bob") -> Event:
    return Event(
        50.0,
        "pub",
        "client ann",
        stream=S,
        domain="D",
        first=1,
        last=1,
        keys=("",),
        text="x",
        flags=flags,
        to=to,
    )


def said(text: str = "OK", at: float = 52.0) -> Event:
    return Event(at, "answer", "client ann", stream=S, domain="D", first=1, last=1, text=text)


def read(at: float = 51.0, stream: str = S_THERE, text: str = "x", sender: str = SESSION) -> Event:
    """Return the delivery of the direct message to Bob."""
    return Event(
        at,
        "deliver",
        "client bob",
        stream=stream,
        domain="D",
        first=1,
        keys=("",),
        text=text,
        flags="p",
        to=sender,
    )


def of_an_ask(at: float, kind: str, who: str, **what: Any) -> Event:
    return replace(Event(at, kind, who, stream=S, domain=SENDS, first=1), **what)


def asked(flags: str = "r", to: str = "/site/NYC/calc/add") -> Event:
    until = 55 * 10**9
    return of_an_ask(50.0, "asked", "client ann", text="x", flags=flags, keys=(ANN,), stamp=until, to=to)


def came(at: float = 51.0, to: str = "calc/add", stream: str = S_THERE) -> Event:
    return of_an_ask(at, "came", "client bob", keys=(BOB, ""), text="x", sub=1, to=to, stream=stream)


def ended(code: str = "OK", at: float = 52.0, by: str = f"/site/NYC{BOB}") -> Event:
    keys, to = (("x",), by) if code == "OK" else ((), "")
    return of_an_ask(at, "ended", "client ann", text=code, keys=keys, to=to)


ABROAD: dict[str, tuple[Facts, tuple[Event, ...], tuple[Event, ...]]] = {
    "S-letters": (FACTS, (*INBOX, letter(), said(), read()), (*INBOX, letter(), said())),
    "S-asked": (FACTS, (asked(), came(), ended()), (asked(), came())),
    "S-leave": (
        FACTS,
        (*INBOX, letter(), read(), asked(), came()),
        (asked(to="/site/NYC/print"), came(to="print")),
    ),
}
