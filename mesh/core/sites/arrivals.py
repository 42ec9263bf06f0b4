"""May this come in from another site? Asked of each envelope before anything is done with it.

Whoever owns another site can say what he likes. What he can harm is what that site may write here.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

from mesh.core.sites.passing import TRAVELS
from mesh.errors import BadName, CircularLoop, LocalError, PublishRefused, SiteUnreachable
from mesh.names import SessionName
from mesh.patterns import SYSTEM
from mesh.sites.hops import leg_of, parse_hop, visited
from mesh.sites.selection import is_own
from mesh.wire.envelope import INITIAL, Envelope
from mesh.wire.limits import HOPS

AHEAD = 600 * 10**9  # ns that a clock of another site may be before ours


class Accepts(Protocol):
    """The rights of one site here."""

    def may_write(self, domain: str, topic: str) -> bool: ...

    def may_write_to(self, client: str) -> bool: ...


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A site whose gateway is connected to ours, and the sites that are reached by it."""

    name: str
    accepts: Accepts
    behind: Collection[str] = ()

    def speaks_for(self, site: str) -> bool:
        return site == self.name or site in self.behind


def unfit(envelope: Envelope, came: Neighbour, here: str, now: int) -> LocalError | None:
    """Why a publish that `came` brings to this site may not come in, if so. `now`: wall clock, ns."""
    try:
        sites = visited(envelope.route)
        is_forged = _is_forged(envelope, sites, came)
    except BadName:
        is_forged = True
    if is_forged:
        what = f"{envelope.sender[:80]!r} did not send that by the site {came.name}."
        return PublishRefused(what, code="FORGED_SENDER")
    if envelope.to:
        return _circle(envelope, sites, here) or _addressed(envelope, came, here)
    return _circle(envelope, sites, here) or _right(envelope, came) or _clock(envelope, came, now)


def _is_forged(envelope: Envelope, sites: list[str], came: Neighbour) -> bool:
    """Did it not come as gateways write it? BadName when something is no name at all."""
    if envelope.to and (envelope.flags & INITIAL or SessionName.parse(envelope.to).node is None):
        return True
    return not leg_of(envelope.route) or _is_strange(envelope, sites, came, TRAVELS | INITIAL)


def is_forged_by(came: Neighbour, envelope: Envelope, flags: int) -> bool:
    """Did it not come as a gateway of that site writes what is for an address? `flags`: that it may have."""
    try:
        return _is_strange(envelope, visited(envelope.route), came, flags)
    except BadName:
        return True


def _is_strange(envelope: Envelope, sites: list[str], came: Neighbour, flags: int) -> bool:
    """Is it by nobody who may say something by that site, or otherwise than one does?"""
    sender = SessionName.parse(envelope.sender)
    if sender.session is None or sender.client.startswith(SYSTEM) or envelope.numbers:
        return True
    if envelope.flags & ~flags or not envelope.sent or not sites:
        return True
    hops = [parse_hop(hop.node) for hop in envelope.route]
    if hops[0] != (sender.site, sender.node) or sites[-1] != came.name:
        return True
    return not all(came.speaks_for(site) for site, _ in hops)


def _circle(envelope: Envelope, sites: list[str], here: str) -> LocalError | None:
    path = " -> ".join((*sites, here))
    if here in sites or len(set(sites)) < len(sites):
        hint = "Let each site send to those only that do not send to it, or by another way."
        return CircularLoop(f"sites send it in a circle: {path}", hint=hint)
    if len(envelope.route) >= HOPS:
        return PublishRefused(f"more than {HOPS} hops, by the sites {path}", code="TOO_MANY_HOPS")
    return None


def _clock(envelope: Envelope, came: Neighbour, now: int) -> LocalError | None:
    """Its stamp decides at all sites which of two values stays: it is refused, never replaced."""
    if envelope.sent <= now + AHEAD:
        return None
    what = f"the clock of the site {came.name} is {(envelope.sent - now) / 1e9:,.0f} s ahead of ours."
    return PublishRefused(what, hint="Set the clock that is wrong.", code="CLOCK_AHEAD")


def _right(envelope: Envelope, came: Neighbour) -> LocalError | None:
    key = next((key for key in envelope.keys if not came.accepts.may_write(envelope.domain, key)), None)
    return None if key is None else _no_right(envelope, came, repr(key[:80]), "accepts")


def _addressed(envelope: Envelope, came: Neighbour, here: str) -> LocalError | None:
    """Why a letter may not come in. BadName was raised before, for what is no name."""
    to = SessionName.parse(envelope.to)
    if to.site != here:
        return SiteUnreachable(f"nothing goes by {here} to the site {(to.site or '')[:64]!r}.")
    if is_own(envelope.domain) or any(key.startswith(SYSTEM) for key in envelope.keys):
        return _no_right(envelope, came, repr(envelope.keys[0][:80]), "accepts")
    if not came.accepts.may_write_to(to.client):
        return _no_right(envelope, came, f"client {to.client!r}", "letters")
    return None


def _no_right(envelope: Envelope, came: Neighbour, what: str, setting: str) -> LocalError:
    text = f"the site {came.name} may not write to {what} in the domain {envelope.domain[:80]!r}."
    return PublishRefused(text, hint=f"See {setting} in [sites.{came.name}] here.", code="NO_RIGHT")
