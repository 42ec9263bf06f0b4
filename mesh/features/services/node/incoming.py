"""Checks and accepts messages from other nodes for addresses here."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from mesh.errors import BadName, LocalError, MessageTooLarge, PublishRefused, RemoteError
from mesh.features.services.node.serving import ServedAddresses
from mesh.hops import inside
from mesh.kernel.context.component import Component, HandlerEntry, on_command
from mesh.kernel.context.conn import Conn
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.peer import Peer
from mesh.kernel.presence.reply_batch import ReplyBatch
from mesh.kernel.subscribers.origins import Verdict
from mesh.kernel.subscribers.sender_check import SenderCheck
from mesh.names import OTHERS, SENDS, SessionName, address_text, is_group
from mesh.printable import count
from mesh.routing.requester import from_peer
from mesh.wire.commands import Answer, Sends
from mesh.wire.content_limit import short_parts
from mesh.wire.envelope import EVERY, REQUEST, Envelope
from mesh.wire.limits import HOPS
from mesh.wire.properties import check_properties


@lru_cache(1024)
def _home(session: str) -> tuple[str | None, str | None]:
    """Return the site (`None` for this one) and the node of a session name. Raises: BadName."""
    name = SessionName.parse(session)
    return name.site, name.node


class IncomingSends(Component):
    """Component that accepts messages for addresses from other nodes.

    A node may send for its own clients, for clients of other sites from which this site accepts messages, and
    as a master for groups.
    """

    def __init__(
        self, context: NodeContext, serving: ServedAddresses, back: ReplyBatch, sender_check: SenderCheck
    ) -> None:
        self._context = context
        self._sender_check = sender_check
        self._serving = serving
        self._back = back

    def from_peers(self) -> Sequence[HandlerEntry]:
        return (on_command(Sends, self._on_sends),)

    def _on_sends(self, conn: Conn, peer: Peer, command: Sends, envelopes: list[Envelope]) -> None:
        ttls = command.ttls or (0,) * len(envelopes)
        if len(ttls) != len(envelopes):
            raise RemoteError(
                f"the message has {count(len(envelopes), 'envelope')}, but {count(len(ttls), 'time limit')}",
                code="MALFORMED",
            )
        for envelope, ttl in zip(envelopes, ttls, strict=True):
            try:
                self._check(peer, envelope)
            except LocalError as error:
                self._refuse(peer, envelope, error)
                continue
            for part in self._short(peer, envelope):
                is_remote = part.to.startswith(OTHERS)
                taker = self._context.face.remote_addresses[OTHERS] if is_remote else self._serving
                taker.accept(from_peer(peer.node.uuid), part, ttl)

    def _check(self, peer: Peer, e: Envelope) -> None:
        if is_group(e.to):  # a master sends it to members here
            if len(e.route) >= HOPS:
                what = f"The request to {address_text(e.to)} passed more than {HOPS} nodes."
                raise PublishRefused(what, code="TOO_MANY_HOPS")
            if e.flags:
                raise self._forged(peer, e, f"has flags that a message to {address_text(e.to)} cannot have")
            if self._sender_check.origins.check_origin(peer, e, peer.node.uuid) is Verdict.FORGED:
                raise PublishRefused(f"{self._sender_check.report(peer, e, True)}.", code="FORGED_SENDER")
            return
        try:
            site, node = _home(e.sender)
            is_theirs = (
                node == peer.node.name if site is None else site in self._context.settings.site.accepting
            )
        except BadName:
            is_theirs = False
        is_theirs = is_theirs or self._context.visits.vouch(e.stream, e.sender, peer.node.uuid)
        way = [hop.node for hop in inside(e.route)]
        is_theirs = is_theirs and way == [peer.node.name]
        if not is_theirs or e.domain != SENDS or e.numbers or e.flags & ~(REQUEST | EVERY):
            what = "has invalid fields"
            if not is_theirs:
                what = "does not come directly from its clients, or from a site that may send here"
            raise self._forged(peer, e, what)
        if e.props:
            check_properties(e)

    def _forged(self, peer: Peer, e: Envelope, what: str) -> PublishRefused:
        self._context.counters.add_count("forged", e.count)
        text = f"{peer.node.name} sent a message of {e.sender[:80]!r} that {what}."
        return PublishRefused(text, code="FORGED_SENDER")

    def _short(self, peer: Peer, envelope: Envelope) -> list[Envelope]:
        most = self._context.settings.max_content

        def too_long(part: Envelope) -> None:
            me = self._context.me.name
            what = f"The message is too large: {me} accepts at most {most:,} bytes per message."
            error = MessageTooLarge(
                what, hint="Raise `limits.max_content` of that node, or send the content in parts."
            )
            self._refuse(peer, part, error)

        return list(short_parts(envelope, most, too_long))

    def _refuse(self, peer: Peer, e: Envelope, error: LocalError) -> None:
        self._context.counters.add_count("refused", e.count)
        answer = Answer(e.domain, e.first, e.last, error.code, text=str(error))
        self._back.outcome(from_peer(peer.node.uuid), e.stream, answer)
