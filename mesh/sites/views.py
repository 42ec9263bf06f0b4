"""Who is in the other sites, and is that news worth telling?"""

# Law 1: what is told of a site is never the same twice in a row, however often a link comes and goes.
# Law 2: whether a site can be reached counts at once; that it cannot is told once nobody took over in time,
#        here or at another gateway of this site.
# Law 3: a site that said it goes is down, and never unreachable, until it is heard of again. It has not gone
#        while another of its gateways is connected: who is cut off in there may know of no other.

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

State = Literal["up", "down", "unreachable"]

GRACE = 15.0  # s without any gateway until a site is told to be unreachable
DEBOUNCE = 1.0  # s with a gateway until it is told to be up
MOST = 4096  # nodes of one site


class SiteMember(NamedTuple):
    """A node of another site. `gateway`: its uuid if it is one there, else empty."""

    name: str
    gateway: bytes = b""


class SiteNews(NamedTuple):
    """A change of a site that is told: `site-up`, `site-down` or `site-unreachable`."""

    event: str
    site: str


class SiteView(NamedTuple):
    """A site as it is seen. `since`: when it became so, by the clock of whoever asks. While it is not up
    nobody is there.
    """

    site: str
    state: State
    members: tuple[str, ...]
    since: float


@dataclass(slots=True)
class _Seen:
    """One site as it is known: what each of its gateways says of it, and what was told."""

    since: float
    said: dict[bytes, tuple[tuple[SiteMember, ...], bool]] = field(default_factory=dict)
    state: State = "unreachable"
    is_reached: bool = False  # by another gateway of this site
    word: State = "unreachable"  # what is to be told of it,
    word_since: float = 0.0
    told: State | None = None  # and what was; None: nothing yet
    has_left: bool = False


class SiteViews:
    """The other sites. Only those that are configured are known."""

    def __init__(self, sites: Iterable[str], now: float) -> None:
        self._sites: dict[str, _Seen] = {}
        self.adopt(sites, now)

    def adopt(self, sites: Iterable[str], now: float) -> None:
        """From now on these are configured. Of others nothing is told any more."""
        before = self._sites
        self._sites = {site: before.get(site) or _Seen(now, word_since=now) for site in sorted(set(sites))}

    def heard(
        self, gateway: bytes, site: str, members: Iterable[SiteMember], now: float, leaving: bool = False
    ) -> None:
        """That gateway of the site is connected, and has said who is there. `leaving`: that the site goes
        down.
        """
        seen = self._sites.get(site)
        if seen is not None:
            seen.said[gateway] = tuple(members)[:MOST], leaving
            _review(seen, now)

    def lost(self, gateway: bytes, now: float, site: str | None = None) -> None:
        """That gateway is connected no more; None: whatever its site."""
        for name, seen in self._sites.items():
            if site in (None, name) and seen.said.pop(gateway, None) is not None:
                _review(seen, now)

    def reached(self, is_reached: Callable[[str], bool], now: float) -> None:
        """Other gateways of this site are linked with those sites."""
        for site, seen in self._sites.items():
            was_reached, seen.is_reached = seen.is_reached, is_reached(site)
            if seen.is_reached and not was_reached and not seen.said:
                seen.has_left = False  # it is heard of again
            _review(seen, now)

    def tick(self, now: float) -> list[SiteNews]:
        """What is to be told now."""
        return [
            SiteNews(f"site-{seen.word}", site) for site, seen in self._sites.items() if _is_news(seen, now)
        ]

    def deadline(self) -> float | None:
        """When something is to be told, if nothing happens until then; None: never."""
        return min((d for seen in self._sites.values() if (d := _due(seen)) is not None), default=None)

    def is_reachable(self, site: str) -> bool:
        """Is there a way to it now, whatever was told?"""
        return (seen := self._sites.get(site)) is not None and seen.state == "up"

    def has(self, site: str, node: str) -> bool:
        """Is that node there, as far as is known?"""
        seen = self._sites.get(site)
        return seen is not None and seen.state == "up" and any(m.name == node for m in _members(seen))

    def view(self, site: str) -> SiteView | None:
        """That site as it is seen; None: there is no such site."""
        seen = self._sites.get(site)
        if seen is None:
            return None
        members = tuple(m.name for m in _members(seen)) if seen.state == "up" else ()
        return SiteView(site, seen.state, members, seen.since)

    def all(self) -> tuple[SiteView, ...]:
        """All of them, by name."""
        return tuple(view for site in self._sites if (view := self.view(site)) is not None)


def _review(seen: _Seen, now: float) -> None:
    """What is said of it has changed: so may have its state."""
    if seen.said:
        seen.has_left = all(leaving for _, leaving in seen.said.values())
    state: State = "down" if seen.has_left else "up" if seen.said else "unreachable"
    if state != seen.state:
        seen.state, seen.since = state, now
    word: State = "up" if state == "unreachable" and seen.is_reached else state
    if word != seen.word:
        seen.word, seen.word_since = word, now


def _due(seen: _Seen) -> float | None:
    if seen.word == seen.told:
        return None
    return seen.word_since + {"up": DEBOUNCE, "down": 0.0, "unreachable": GRACE}[seen.word]


def _is_news(seen: _Seen, now: float) -> bool:
    due = _due(seen)
    if due is None or now < due:
        return False
    seen.told = seen.word
    return True


def _members(seen: _Seen) -> list[SiteMember]:
    """Gateways by uuid, then the others by name. Where one is told of in several ways it is there once."""
    found = dict[str, SiteMember]()
    for members, _ in seen.said.values():
        for member in members:
            before = found.get(member.name)
            if before is None or member.gateway > before.gateway:
                found[member.name] = member
    return sorted(found.values(), key=lambda m: (not m.gateway, m.gateway, m.name))[:MOST]
