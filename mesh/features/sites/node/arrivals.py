"""Decides whether an envelope of another site may enter this site, or pass through to a third one.

Every envelope is checked before anything else is done with it. The owner of another site can send anything,
so the damage is limited to what that site, and the sites reached through it, may write here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from mesh.errors import BadName, CircularLoop, LocalError, PublishRefused, SiteUnreachable
from mesh.features.sites.node.passing import TRAVELS
from mesh.hops import leg_of, parse_hop, visited
from mesh.kernel.context.node_clock import AHEAD, is_followed
from mesh.names import SessionName
from mesh.patterns import SYSTEM
from mesh.printable import typed
from mesh.remote_names import UNREACHABLE
from mesh.site_policy.selection import is_own
from mesh.wire.envelope import EVERY, INITIAL, REQUEST, Envelope
from mesh.wire.limits import HOPS


class SiteRights(Protocol):
    """The rights that one site has here."""

    def may_write(self, domain: str, topic: str) -> bool: ...

    def may_pass(self, site: str) -> bool: ...

    def may_write_to(self, client: str) -> bool: ...


@dataclass(frozen=True, slots=True)
class NeighbourSite:
    """A neighbor site whose gateway is connected to `node` of this site.

    `rights` maps each site from which messages are accepted to its rights. `ways` maps each site to the
    neighbor through which it is reached; only that neighbor may speak for the site.
    """

    name: str
    node: str
    rights: Mapping[str, SiteRights]
    ways: Mapping[str, str]

    def speaks_for(self, site: str) -> bool:
        return site in self.rights and self.ways.get(site) == self.name

    def no_right(self, what: str, setting: str, site: str, here: str) -> LocalError:
        """Return the error for a missing right of `site`.

        The sender reads the text at the other site, so the text names the section here, and the node whose
        file has it.
        """
        where = f"[sites.{site}] at the site {here}, in mesh.toml of the node {self.node}"
        hint = f"See `{setting}` in {where}."
        return PublishRefused(f"The site {site} may not {what}.", hint=hint, code="NO_RIGHT")


def unfit(envelope: Envelope, came: NeighbourSite, here: str, now: int) -> LocalError | None:
    """Return why an envelope from `came` may not enter this site, or None.

    `now` is wall-clock time in ns.
    """
    strange = _strange(envelope, came, here)
    if envelope.to:
        return strange or _addressed(envelope, came, here) or _clock(envelope, came, now)
    return strange or _right(envelope, came, here) or _clock(envelope, came, now)


def unfit_to_pass(envelope: Envelope, came: NeighbourSite, here: str, to: str) -> LocalError | None:
    """Return why an envelope of `came` may not pass through this site to another one, or None."""
    return _strange(envelope, came, here) or _passage(envelope, came, here, to)


def unfit_to_ask(envelope: Envelope, came: NeighbourSite, here: str, to: str) -> LocalError | None:
    """Return why a request of `came` to an address of site `to` may not enter or pass through, or None."""
    error = _strange(envelope, came, here, is_sent=True)
    return error or (_passage(envelope, came, here, to) if to != here else None)


def sender_of(envelope: Envelope, came: NeighbourSite) -> str:
    """Return the name of the site that published the envelope, if `came` may speak for it.

    Otherwise, or if the route of the envelope is empty or malformed, return the name of `came`.
    """
    try:
        site = origin(envelope) if envelope.route else came.name
    except BadName:
        return came.name
    return site if came.speaks_for(site) else came.name


def origin(envelope: Envelope) -> str:
    """Return the site of the first hop of the envelope, whose route must not be empty. Raises: BadName."""
    return parse_hop(envelope.route[0].node)[0]


def _strange(envelope: Envelope, came: NeighbourSite, here: str, is_sent: bool = False) -> LocalError | None:
    """Return an error for a forged or malformed envelope, a routing loop, or too many hops; otherwise None.

    `is_sent` means that the envelope is for an address.
    """
    sites: list[str] = []
    try:
        sites = visited(envelope.route)
        if is_sent:
            is_forged = _is_strange(envelope, sites, came, REQUEST | EVERY)
        else:
            is_forged = _is_forged(envelope, sites, came)
    except BadName:
        is_forged = True
    if is_forged:
        what = (
            f"The site {came.name} may not send this message of {envelope.sender[:80]!r}: its route or "
            "another field is not valid."
        )
        return PublishRefused(what, hint=_hint(sites, came, here), code="FORGED_SENDER")
    return _circle(envelope, (*sites, here))


def _hint(sites: list[str], came: NeighbourSite, here: str) -> str:
    other = next((site for site in sites if came.ways.get(site, came.name) != came.name), "")
    way = f"{here} reaches {other} through {came.ways.get(other)}: compare `via` in [sites.{other}] there."
    return way if other else ""


def _is_forged(envelope: Envelope, sites: list[str], came: NeighbourSite) -> bool:
    """Return whether the envelope is not in the form that gateways write. Raises: BadName."""
    if envelope.to:
        to = SessionName.parse(envelope.to)
        if envelope.flags & INITIAL or (to.node is None and to.site is None):
            return True
    return not leg_of(envelope.route) or _is_strange(envelope, sites, came, TRAVELS | INITIAL)


def _is_strange(envelope: Envelope, sites: list[str], came: NeighbourSite, flags: int) -> bool:
    """Return whether a field of the envelope may not come from the neighbor. Raises: BadName."""
    sender = SessionName.parse(envelope.sender)
    if sender.session is None or sender.client.startswith(SYSTEM) or envelope.numbers:
        return True
    if envelope.flags & ~flags or not envelope.sent or not sites or envelope.put:
        return True
    hops = [parse_hop(hop.node) for hop in envelope.route]
    if hops[0] != (sender.site, sender.node) or sites[-1] != came.name:
        return True
    return not all(came.speaks_for(site) for site, _ in hops)


def _circle(envelope: Envelope, sites: tuple[str, ...]) -> LocalError | None:
    path = " -> ".join(sites)
    if len(set(sites)) < len(sites):
        hint = "Compare `via` in the [sites] sections of these sites; forward a topic in one direction only."
        return CircularLoop(f"Routing loop of sites: {path}.", hint=hint)
    if len(envelope.route) >= HOPS:
        return PublishRefused(
            f"The message passed more than {HOPS} nodes, through the sites {path}.",
            hint="Link the first and the last site more directly.",
            code="TOO_MANY_HOPS",
        )
    return None


def _clock(envelope: Envelope, came: NeighbourSite, now: int) -> LocalError | None:
    """Return an error if the timestamp of the envelope is too far ahead of `now`, otherwise None.

    The timestamp decides at all sites which of two values wins, so it is never replaced.
    """
    if is_followed(envelope.sent, now):
        return None
    seconds = (envelope.sent - now) / 1e9
    what = f"A clock of the site {origin(envelope)} is {seconds:,.0f} s ahead of the clock of {came.node}."
    hint = (
        f"Correct the clock that is wrong. {came.node} accepts a difference of less than {AHEAD // 10**9} s."
    )
    return PublishRefused(what, hint=hint, code="CLOCK_AHEAD")


def _passage(envelope: Envelope, came: NeighbourSite, here: str, to: str) -> LocalError | None:
    first, following = origin(envelope), came.ways.get(to)
    if not came.rights[first].may_pass(to):
        return came.no_right(f"send through {here} to {to[:64]!r}", "serves", first, here)
    if following is None:
        hint = f"See `mesh why site {typed(to[:64])}` at a node of {here}."
        return PublishRefused(f"{here} has no route to the site {to[:64]!r}.", hint=hint, code=UNREACHABLE)
    return _circle(envelope, (*visited(envelope.route), here, *dict.fromkeys((following, to))))


def _right(envelope: Envelope, came: NeighbourSite, here: str) -> LocalError | None:
    first, domain = origin(envelope), envelope.domain
    may_write = came.rights[first].may_write
    key = next((key for key in envelope.keys if not may_write(domain, key)), None)
    if key is None:
        return None
    topic = f"{key[:80]!r} of the domain {domain[:80]!r}" if domain else f"{key[:80]!r} (no domain)"
    return came.no_right(f"publish {topic} here", "accepts", first, here)


def _addressed(envelope: Envelope, came: NeighbourSite, here: str) -> LocalError | None:
    """Return why a direct message may not enter, or None.

    The names in the message have been parsed before, so no BadName is raised here.
    """
    to, first = SessionName.parse(envelope.to), origin(envelope)
    if to.site != here:
        what = f"The message for {envelope.to[:80]!r} came to the site {here}, which is not its destination."
        return SiteUnreachable(what)
    if is_own(envelope.domain) or any(key.startswith(SYSTEM) for key in envelope.keys):
        key = next((key for key in envelope.keys if key.startswith(SYSTEM)), "")
        what = f"key {key[:80]!r}" if key else f"domain {envelope.domain[:80]!r}"
        return PublishRefused(
            f"The site {first} may not use the {what}, which is reserved for the mesh.", code="NO_RIGHT"
        )
    if not came.rights[first].may_write_to(to.client):
        return came.no_right(f"send direct messages to the client {to.client!r}", "letters", first, here)
    return None
