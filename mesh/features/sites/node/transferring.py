"""Transfers: a master sends its retained values to another site that lacks some."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b

from msgspec.structs import replace

from mesh.errors import LocalError
from mesh.features.sites.model.transfers import SiteTransfer, Topic
from mesh.features.sites.node.facts import SITE, SiteAnswered
from mesh.features.sites.node.passing import leaving
from mesh.features.sites.node.site_in_flight import WAITS
from mesh.features.sites.node.site_relay import SiteRelay
from mesh.features.sites.node.site_sinks import SiteSinks
from mesh.features.sites.node.transfer_marks import TransferMarks
from mesh.flow.backoff import Backoff
from mesh.hops import is_foreign
from mesh.kernel.context.component import Component
from mesh.kernel.context.facts import Hearing, on_fact
from mesh.kernel.context.incoming_call import IncomingCall, Right, Verb, answer
from mesh.kernel.context.node_clock import is_followed
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.facts import LoggedOut
from mesh.kernel.presence.facts import ServersChanged
from mesh.kernel.routes.nodes import Nodes
from mesh.kernel.routes.peer_calls import PeerCalls, Replies
from mesh.patterns import SYSTEM
from mesh.routing.keylist import KeyList
from mesh.routing.retained import Retained
from mesh.routing.retained_value import RetainedValue
from mesh.site_policy.refusals import FOR_NOW
from mesh.wire.calls import AskSiteSync
from mesh.wire.commands import Outcome
from mesh.wire.envelope import INITIAL, LOCAL_ONLY, NO_RELAY, Envelope
from mesh.wire.replies import SiteSync

LOOKED = 16  # keys per step, which bounds its time and bytes
FORGED = "FORGED_SENDER"  # answer of a gateway without transfers

# Rule 1: a marked site gets a transfer once it is reachable and everything that waited for it has left, so
# that nothing older follows a value.
# Rule 2: the mark is removed when the transfer is complete, so an interrupted transfer starts again.
# Rule 3: a value that is already owed to the site is not transferred too, as readers would get it twice.
# Rule 4: values of other sites are not transferred.


class Transferring(Component):
    """Component that transfers retained values to other sites."""

    def __init__(
        self,
        context: NodeContext,
        retained: Retained,
        relaying: SiteRelay,
        sinks: SiteSinks,
        marking: TransferMarks,
        nodes: Nodes,
        questions: PeerCalls,
        is_paused: Callable[[str], bool],
    ) -> None:
        self._context = context
        self._retained = retained
        self._relaying = relaying
        self._sinks = sinks
        self._marking = marking
        self._nodes = nodes
        self._questions = questions
        self._is_paused = is_paused
        self._transfers: dict[str, SiteTransfer] = {}
        self._pauses = Backoff[str]()  # by site
        self._unsent: dict[str, None] = {}  # sites whose unanswered values are to be resent

    def fact_handlers(self) -> Sequence[Hearing]:
        return (
            on_fact(SiteAnswered, lambda fact: self._on_outcomes(fact.site, fact.outcomes)),
            on_fact(
                ServersChanged, lambda fact: self._on_gateways_lost(fact.name) if fact.kind == SITE else None
            ),
            on_fact(LoggedOut, lambda _: self._all_lost()),
        )

    def client_verbs(self) -> Sequence[Verb]:
        return (answer(AskSiteSync, self._on_sync, Right.RUN),)

    def peer_verbs(self) -> Sequence[Verb]:
        return (answer(AskSiteSync, lambda asked: self._want(asked.ask.site, asked.reply)),)

    def figures(self) -> dict[str, int | float]:
        return {"site_transfers": sum(transfer.left for transfer in self._transfers.values())}

    # --- beginning --------------------------------------------------------------------------------------

    def _want(self, site: str, say: Callable[[SiteSync], None]) -> None:
        """Mark a site for a transfer, and call `say` once the mark is on disk.

        The transfer begins when the site is reachable. A running transfer continues.
        """
        if site not in self._relaying.sites:
            what = f"{self._context.me.name} does not know the site {site[:64]!r}."
            hint = "See `mesh relay ls`."
            if site in self._context.settings.site.ways:
                what = f"{self._context.me.name} forwards no topics to the site {site!r}."
                hint = f"Set `domains` or `topics` in [sites.{site}] in mesh.toml of that node."
            raise LocalError(what, hint=hint, code="UNKNOWN_SITE")
        self._context.clock.wake(self._context.clock.now)
        self._marking.want(site, lambda: say(SiteSync(nodes=[self._context.me.name])))

    def _on_sync(self, asked: IncomingCall[AskSiteSync]) -> None:
        def ask() -> None:
            peers = list(self._nodes.askable())
            names = {peer.node.uuid: peer.node.name for peer in peers}

            def came(replies: Replies[SiteSync], missing: list[str]) -> None:
                doing = [names[uuid] for uuid, one in replies.items() if not one.code]
                refused = [names[uuid] for uuid, one in replies.items() if one.code]
                asked.reply(SiteSync(nodes=[self._context.me.name, *doing], missing=[*missing, *refused]))

            self._questions.ask_all(peers, asked.ask, SiteSync, came)

        self._want(asked.ask.site, lambda _: self._questions.when_settled(ask))

    def tick(self) -> None:
        for site in self._marking.sites():
            if site not in self._transfers and self._may_go(site) and self._relaying.is_through(site):
                stream = blake2b(
                    self._context.me.uuid + self._context.clock.stamp().to_bytes(8) + site.encode(),
                    digest_size=16,
                )
                keys = KeyList(self._retained)
                self._transfers[site] = SiteTransfer(stream.digest(), keys, self._marking.dropped_count(site))
        for site in self._pauses.begin_due(self._context.clock.now):
            self._unsent[site] = None
        for site in list(self._transfers):
            self._send_values(site)
        self._context.clock.wake(self._pauses.deadline())

    def _may_go(self, site: str) -> bool:
        return self._relaying.has_way(site) and not self._is_paused(site)

    def _on_gateways_lost(self, site: str) -> None:
        """Resend all unanswered values, because the gateways to the site have changed."""
        if site in self._transfers or site in self._marking:
            self._unsent[site] = None
            self._context.clock.wake(self._context.clock.now)

    def _all_lost(self) -> None:
        for site in self._transfers:
            self._on_gateways_lost(site)

    # --- to the site ------------------------------------------------------------------------------------

    def _send_values(self, site: str) -> None:
        if site not in self._relaying.sites or site not in self._marking:
            self._end_transfer(site)  # no longer configured
            return
        if not self._may_go(site) or self._pauses.holds(site):
            return
        transfer = self._transfers[site]
        going: list[Envelope] = []
        if site in self._unsent:
            del self._unsent[site]
            going += self._resend_values(site, transfer)
        looked = transfer.next_keys(LOOKED)
        for value in self._values(site, looked):
            going.append(
                self._leaving(
                    transfer, transfer.assign_number((value.key, value.envelope.domain), value.size), value
                )
            )
        self._relaying.send_envelopes(site, transfer.stream, going)
        if transfer.is_over:
            self._is_done(site, transfer)
        elif looked:
            self._context.clock.wake(self._context.clock.now)

    def _resend_values(self, site: str, transfer: SiteTransfer) -> Iterator[Envelope]:
        for number, topic in transfer.unanswered():
            value = self._value(site, topic)
            if value is not None and not self._is_ahead(value):
                yield self._leaving(transfer, number, value)
            else:  # the topic is gone, or has changed
                transfer.apply_answer(topic[1], number, number, True)
                transfer.ahead += value is not None

    def _values(self, site: str, keys: Sequence[str]) -> Iterator[RetainedValue]:
        """Yield the values of `keys` that are to be transferred.

        Values with a timestamp too far ahead are only counted.
        """
        for key in keys:
            for domain in self._retained.domains(key):
                value = self._value(site, (key, domain))
                if value is None or self._relaying.is_coming(site, value):
                    continue
                if self._is_ahead(value):
                    self._transfers[site].ahead += 1
                else:
                    yield value

    def _is_ahead(self, value: RetainedValue) -> bool:
        """Return whether the timestamp is so far ahead that later values could not replace the value yet."""
        return not is_followed(value.envelope.sent, self._context.clock.wall)

    def _value(self, site: str, topic: Topic) -> RetainedValue | None:
        value = self._retained.get(*topic)
        if value is None or value.is_void(self._context.clock.believed):
            return None
        e = value.envelope
        stays = e.flags & (LOCAL_ONLY | NO_RELAY) or is_foreign(e.sender) or f"/client/{SYSTEM}" in e.sender
        return None if stays or site not in self._sinks.names(*topic) else value

    def _leaving(self, transfer: SiteTransfer, number: int, value: RetainedValue) -> Envelope:
        e = replace(value.as_envelope(), stream=transfer.stream, first=number, last=number)
        left = leaving(e, self._context.settings.site.name, transfer.low)
        return replace(left, flags=left.flags | INITIAL)

    # --- answers of the site ----------------------------------------------------------------------------

    def _on_outcomes(self, site: str, outcomes: Sequence[Outcome]) -> None:
        transfer = self._transfers.get(site)
        if transfer is None:
            return
        for outcome in outcomes:
            a = outcome.answer
            if outcome.stream != transfer.stream or not transfer.is_about(a.domain, a.first, a.last):
                continue
            if a.state in FOR_NOW:
                self._context.clock.wake(self._pauses.record_refusal(site, self._context.clock.now))
            elif a.state == FORGED:
                self._give_up(site, a.text)
                return
            elif a.state != WAITS:
                transfer.apply_answer(a.domain, a.first, a.last, a.state == "OK")
                self._pauses.record_progress(site, self._context.clock.now)
            self._context.clock.wake(self._context.clock.now)

    def _is_done(self, site: str, transfer: SiteTransfer) -> None:
        self._end_transfer(site)
        if self._marking.dropped_count(site) > transfer.dropped:  # more was dropped meanwhile
            self._context.clock.wake(self._context.clock.now)
            return
        self._marking.remove_mark(site)
        text = f"{site} has received all its retained values: {transfer.sent:,}"
        refused = f", of which it refused {transfer.refused:,}" if transfer.refused else ""
        ahead = f"; {transfer.ahead:,} stay here, because their timestamps are far in the future"
        said = text + refused + (ahead if transfer.ahead else "")
        self._context.event("site", said, level="info" if said == text else "warning")

    def _give_up(self, site: str, why: str) -> None:
        """Stop the transfer, as the site does not support any; its count of missing messages stays."""
        self._end_transfer(site)
        self._marking.defer_transfer(site)
        self._context.event("site", f"{site} does not accept retained values: {why[:200]!r}", level="warning")

    def _end_transfer(self, site: str) -> None:
        self._transfers.pop(site, None)
        self._unsent.pop(site, None)
        self._pauses.drop(site)
