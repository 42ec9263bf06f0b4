"""Planted bugs between sites."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from mesh.features.sites.model.views import SiteViews
from mesh.features.sites.node import passing, site_sender, site_sinks, sitefeed
from mesh.features.sites.node.gateway import Gateways
from mesh.features.sites.node.gateway_relay import GatewayRelay
from mesh.features.sites.node.site_conflicts import SiteConflicts
from mesh.features.sites.node.site_pass_through import SitePassThrough
from mesh.features.sites.node.transferring import Transferring
from mesh.hops import is_foreign
from mesh.kernel.forwarding.local_master import LocalMaster
from mesh.routing.retained_value import RetainedValue
from mesh.streams.deferred_numbers import DeferredNumbers
from mesh.wire.commands import Answer, Outcome

Patch = tuple[Any, str, Any]


def told_once() -> list[Patch]:
    """Do not announce later changes of members to other sites."""
    return [(Gateways, "on_second", lambda self: None)]


def seen_for_ever() -> list[Patch]:
    """Keep the view of a site that is unreachable."""
    return [(SiteViews, "drop_gateway", lambda self, gateway, now, site=None: None)]


def freed_early() -> list[Patch]:
    """Answer for the other site as soon as a gateway has sent a message there."""
    take = GatewayRelay.forward

    def answers(self: Any, source: bytes, site: str, envelopes: Any, dropped: int = 0) -> None:
        take(self, source, site, envelopes, dropped)
        for e in envelopes:
            outcome = Outcome(e.stream, Answer(e.domain, e.first, e.last))
            self._answers.setdefault((source, site), []).append(outcome)

    return [(GatewayRelay, "forward", answers)]


def relayed_back() -> list[Patch]:
    """Forward messages of another site to further sites, and back."""
    stays = passing.AT_HOME

    def may_leave(envelope: Any) -> bool:
        return not (envelope.to or envelope.flags & stays)

    return [(site_sinks, "may_leave", may_leave), (sitefeed, "may_leave", may_leave)]


def by_the_gateway() -> list[Patch]:
    """Send messages with a client of the gateway as their sender."""
    leaving = passing.leaving

    def renamed(envelope: Any, *args: Any) -> Any:
        left = leaving(envelope, *args)
        return replace(left, sender=f"{left.sender.partition('/client/')[0]}/client/relay/session/1")

    return [(site_sender, "leaving", renamed)]


def stamped_anew() -> list[Patch]:
    """Assign a new timestamp at each site."""
    shared = LocalMaster.shared_stamp

    def stamp(self: Any, envelope: Any) -> int:
        return 0 if is_foreign(envelope.sender) else shared(self, envelope)

    return [(LocalMaster, "shared_stamp", stamp)]


def last_to_come_stays() -> list[Patch]:
    """Keep whichever value of two sites arrives last."""
    newer = RetainedValue.is_newer_than

    def is_newer_than(self: Any, other: Any, here: str = "") -> bool:
        return self.site(here) == other.site(here) and bool(newer(self, other, here))

    return [(RetainedValue, "is_newer_than", is_newer_than)]


def lost_unheard() -> list[Patch]:
    """Do not keep a value that lost against another site."""
    return [(SiteConflicts, "_add", lambda self, lost: None)]


def lost_in_the_middle() -> list[Patch]:
    """Do not report messages that were lost beyond a site in between."""
    return [(SitePassThrough, "_on_exits_changed", lambda self, fact: None)]


def waits_for_ever() -> list[Patch]:
    """Wait for a deferred message of another site as long as later ones arrive."""
    as_it_is = DeferredNumbers.defer

    def put_off(self: Any, who: bytes, first: int, now: float) -> None:
        as_it_is(self, who, first, now)
        numbers, _ = self._refused[who]
        self._refused[who] = numbers, now

    return [(DeferredNumbers, "defer", put_off)]


def transferred_anew() -> list[Patch]:
    """Send a retained value with the time of sending."""
    as_it_leaves = Transferring._leaving

    def leaving(self: Any, *args: Any) -> Any:
        return replace(as_it_leaves(self, *args), sent=self._context.clock.stamp())

    return [(Transferring, "_leaving", leaving)]


def transferred_in_vain() -> list[Patch]:
    """Send nothing to a site that lacks values, and count it as complete."""
    return [(Transferring, "_values", lambda self, site, keys: iter(()))]


# Seed, broken law and patches by the name of the bug.
SITES: dict[str, tuple[int, str, Callable[[], list[Patch]]]] = {
    "other sites are told of nobody who comes later": (162, "S-views", told_once),
    "a site that nobody reaches is seen for ever": (6, "S-seen", seen_for_ever),
    "a gateway frees what it has only sent": (0, "C6.1", freed_early),
    "what came from a site goes on to others": (0, "C6.1", relayed_back),
    "what leaves a site is by the gateway": (0, "S-sender", by_the_gateway),
    "each site stamps what it gets": (0, "S-stamp", stamped_anew),
    "of two sites the value stays that comes last": (4, "S-conflict", last_to_come_stays),
    "what lost against another site is kept nowhere": (0, "S-kept", lost_unheard),
    "what is lost behind a site in the middle is told to nobody": (83, "C6.1", lost_in_the_middle),
    "what was put off is waited for for ever": (7310045, "L1", waits_for_ever),
    "last values are transferred with another time": (0, "C6.1", transferred_anew),
    "a transfer sends nothing": (8, "S-conflict", transferred_in_vain),
}
