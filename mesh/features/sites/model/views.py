"""The members and the state of other sites, and which changes are reported."""

# Law 1: the same state of a site is never reported twice in a row, however often a link flaps.
# Law 2: reachability counts immediately. A loss is reported only if no gateway of this site has replaced the
# link in time.
# Law 3: a site that announced its stop is down, never unreachable, until it is seen again. It is not down
# while another of its gateways is connected, because an isolated gateway may know no other.

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

State = Literal["up", "down", "unreachable"]

GRACE = 15.0  # s without a gateway until reported unreachable
DEBOUNCE = 1.0  # s with a gateway until reported up
MOST = 4096  # nodes of one site


class SiteMember(NamedTuple):
    """A node of another site. `gateway` is its uuid if it is a gateway there, otherwise empty."""

    name: str
    gateway: bytes = b""


class SiteNews(NamedTuple):
    """A reported change of a site: `site-up`, `site-down` or `site-unreachable`."""

    event: str
    site: str


class SiteView(NamedTuple):
    """A site as seen from here. `since` is when its state began, by the caller's clock.

    A site that is not up has no members.
    """

    site: str
    state: State
    members: tuple[str, ...]
    since: float


@dataclass(slots=True)
class _Seen:
    """A known site: the reports of each of its gateways, and the last reported state."""

    since: float
    said: dict[bytes, tuple[tuple[SiteMember, ...], bool]] = field(default_factory=dict)
    state: State = "unreachable"
    is_reached: bool = False  # by another gateway of this site
    word: State = "unreachable"  # state to be reported
    word_since: float = 0.0
    told: State | None = None  # last reported; None: nothing yet
    has_left: bool = False


class SiteViews:
    """The views of the configured sites, from the reports of their gateways."""

    def __init__(self, sites: Iterable[str], now: float) -> None:
        self._sites: dict[str, _Seen] = {}
        self.set_sites(sites, now)

    def set_sites(self, sites: Iterable[str], now: float) -> None:
        """Set the configured sites. Removed sites are no longer reported."""
        before = self._sites
        self._sites = {site: before.get(site) or _Seen(now, word_since=now) for site in sorted(set(sites))}

    def record_report(
        self, gateway: bytes, site: str, members: Iterable[SiteMember], now: float, leaving: bool = False
    ) -> None:
        """Record a report of a connected gateway of the site. `leaving` means that the site stops."""
        seen = self._sites.get(site)
        if seen is not None:
            seen.said[gateway] = tuple(members)[:MOST], leaving
            _review(seen, now)

    def drop_gateway(self, gateway: bytes, now: float, site: str | None = None) -> None:
        """Record that a gateway disconnected, for one site or, with None, for all."""
        for name, seen in self._sites.items():
            if site in (None, name) and seen.said.pop(gateway, None) is not None:
                _review(seen, now)

    def reached(self, is_reached: Callable[[str], bool], now: float) -> None:
        """Record which sites other gateways of this site reach."""
        for site, seen in self._sites.items():
            was_reached, seen.is_reached = seen.is_reached, is_reached(site)
            if seen.is_reached and not was_reached and not seen.said:
                seen.has_left = False  # seen again
            _review(seen, now)

    def tick(self, now: float) -> list[SiteNews]:
        """Return the changes that are to be reported now, and record them as reported."""
        return [
            SiteNews(f"site-{seen.word}", site) for site, seen in self._sites.items() if _is_news(seen, now)
        ]

    def deadline(self) -> float | None:
        """Return when the next report is due if nothing happens before, or None."""
        return min((d for seen in self._sites.values() if (d := _due(seen)) is not None), default=None)

    def is_reachable(self, site: str) -> bool:
        """Return whether this node, as a gateway, reaches the site now, whatever was reported."""
        return (seen := self._sites.get(site)) is not None and seen.state == "up"

    def has_member(self, site: str, node: str) -> bool:
        """Return whether this node reaches the site now and knows that node as a member of it."""
        seen = self._sites.get(site)
        return seen is not None and seen.state == "up" and any(m.name == node for m in _members(seen))

    def view(self, site: str) -> SiteView | None:
        """Return the view of that site, or None if it is not configured."""
        seen = self._sites.get(site)
        if seen is None:
            return None
        members = tuple(m.name for m in _members(seen)) if seen.state == "up" else ()
        return SiteView(site, seen.state, members, seen.since)

    def all(self) -> tuple[SiteView, ...]:
        return tuple(view for site in self._sites if (view := self.view(site)) is not None)


def _review(seen: _Seen, now: float) -> None:
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
    """Return the members: gateways by uuid, then other nodes by name, each once, at most MOST."""
    found = dict[str, SiteMember]()
    for members, _ in seen.said.values():
        for member in members:
            before = found.get(member.name)
            if before is None or member.gateway > before.gateway:
                found[member.name] = member
    return sorted(found.values(), key=lambda m: (not m.gateway, m.gateway, m.name))[:MOST]
