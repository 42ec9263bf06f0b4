"""Answers requests of clients and peers to get or erase retained values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from mesh.errors import LocalError, MasterAway
from mesh.kernel.asking.erasing import Erasing, erasure
from mesh.kernel.asking.erasures import Erasures
from mesh.kernel.asking.lookup import Lookup
from mesh.kernel.asking.lookup_result import LastValue, LookupResult
from mesh.kernel.context.component import Component
from mesh.kernel.context.conn import NODE
from mesh.kernel.context.incoming_call import IncomingCall, Right, Verb, answer
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.context.pages import NAMES, listed
from mesh.kernel.context.settings import CONFIRM
from mesh.kernel.forwarding.forwarder import Forwarder
from mesh.kernel.subscribers.datalink import DataLinks
from mesh.kernel.subscribers.privacy import as_seen_by
from mesh.reasons.reason import reason
from mesh.reasons.what import TOPIC, What
from mesh.reserved import DEAD
from mesh.routing.subscriptions import check_query
from mesh.values import check_domain
from mesh.wire.calls import AskErase, AskGet
from mesh.wire.commands import Query
from mesh.wire.frames import body_frames
from mesh.wire.limits import ENVELOPES_A_MESSAGE, MAX_CONTENT_EVER, QUIET
from mesh.wire.replies import ClientErased, ClientValues, Erased, Reason, Values


class LastValues(Component):
    """Component with the verbs `get` and `erase` of clients and peers."""

    def __init__(
        self, context: NodeContext, lookup: Lookup, erasing: Erasing, forwarder: Forwarder, links: DataLinks
    ) -> None:
        self._context = context
        self._lookup = lookup
        self._erasing = erasing
        self._forwarder = forwarder
        self._links = links
        self._erasures = Erasures(partial(context.event, "erase"))

    def explain(self, what: What) -> Iterator[Reason]:
        if what.kind == TOPIC and (past := self._erasing.last_erasure(what.text, what.domain)) is not None:
            yield reason("EMPTIED" if past.mode == "history" else "ERASED", who=past.by)

    def features(self) -> Sequence[str]:
        return (QUIET,)

    def client_verbs(self) -> Sequence[Verb]:
        return (answer(AskGet, self._get), answer(AskErase, self._erase_if_readable, Right.WRITE))

    def peer_verbs(self) -> Sequence[Verb]:
        return (answer(AskGet, self._get_for), answer(AskErase, self._erase_for))

    def tick(self) -> None:
        self._erasures.tick(self._context.clock.now)

    # --- clients ----------------------------------------------------------------------------------------

    def _get(self, asked: IncomingCall[AskGet]) -> None:
        ask = asked.ask
        said = partial(_say, asked)
        self._lookup.look_up(_query(ask), said, fresh=ask.fresh, most=ask.history)

    def _erase_if_readable(self, asked: IncomingCall[AskErase]) -> None:
        """Erase a topic, but a dead letter only for clients that may read it."""
        key = asked.ask.key
        if asked.conn.grant == NODE or not key.startswith(DEAD):
            self._erase(asked)
            return

        def found(found: LookupResult) -> None:
            if all(as_seen_by(asked.who, value.envelope) is value.envelope for value in found.values):
                try:
                    self._erase(asked)
                except LocalError as error:  # the question may be long over
                    asked.fail(error)
            else:
                what = (
                    f"{key} is the dead letter of a message to one receiver; only the session that sent it, "
                    "or a client with the receiver's key or the keys of a node, may erase it."
                )
                hint = "The user who runs a node may do so on the machine of that node."
                asked.fail(LocalError(what, hint=hint, code="NOT_ALLOWED"))

        self._lookup.look_up(Query("exact", key), found)

    def _erase(self, asked: IncomingCall[AskErase]) -> None:
        session, ask = asked.who, asked.ask
        it = erasure(session.stream, asked.request, ask.key, ask.domain, session.text, ask.mode)
        if self._forwarder.onward.holds(session.stream, it.domain):
            text = (
                f"{it.key} was not erased: earlier messages of this client in the same domain still wait for "
                "their master."
            )
            raise MasterAway(text, hint="See `mesh ls`, and erase the topic again later.")

        def done(was_there: bool) -> None:
            if was_there:
                self._erasures.add(
                    asked.conn.user or session.text, asked.doer, it.key, self._context.clock.now
                )
            asked.reply(ClientErased(erased=[it.key] if was_there else []))

        self._erasing.erase(it, done, asked.fail)

    # --- nodes ------------------------------------------------------------------------------------------

    def _get_for(self, asked: IncomingCall[AskGet]) -> None:
        ask, peer = asked.ask, asked.who

        def came(found: LookupResult) -> None:
            if ask.after:
                self._links.reply_after(peer, lambda: self._say_to_node(asked, found))
            else:
                self._say_to_node(asked, found)

        within = min(CONFIRM, ask.within)
        self._lookup.get_for(peer, _query(ask), came, ask.visited, within, ask.after, ask.history)

    def _say_to_node(self, asked: IncomingCall[AskGet], found: LookupResult) -> None:
        me, missing, away = self._context.me.name, found.missing[:NAMES], _names(found.away)
        for part, more in _parts(found.values):
            sources = [(value.source or me, value.age, value.master) for value in part]
            said = Values(more=more, missing=missing, away=away, sources=sources)
            asked.reply(said, [value.envelope for value in part])

    def _erase_for(self, asked: IncomingCall[AskErase]) -> None:
        def came(was_there: bool, away: list[str]) -> None:
            asked.reply(Erased(erased=was_there, away=_names(away)))

        self._erasing.erase_for(asked.who, asked.ask, came, asked.fail)


def _say(asked: IncomingCall[AskGet], found: LookupResult) -> None:
    """Answer a client's GET, with an error if masters are unreachable and no value was found."""
    if not found.best and found.away:
        text = (
            "No retained value is stored here, and the master or a node on the route to it does not answer: "
            f"{listed(found.away)}."
        )
        asked.fail(MasterAway(text, hint="See `mesh ls`."))
        return
    seen = [replace(value, envelope=as_seen_by(asked.who, value.envelope)) for value in found.values]
    for part, more in _parts(seen):
        sources = [(value.source, value.age) for value in part]
        said = ClientValues(more=more, missing=found.missing[:NAMES], sources=sources)
        asked.reply(said, [value.envelope for value in part])


def _names(away: list[str]) -> list[str]:
    return list(dict.fromkeys(away))[:NAMES]


def _query(ask: AskGet) -> Query:
    return check_query(Query(ask.kind, ask.text, check_domain(ask.domain)))


def _parts(values: list[LastValue]) -> list[tuple[list[LastValue], bool]]:
    """Split the values into replies of the allowed size, each with whether more replies follow."""
    parts = []
    while True:
        n = _fit(values)
        part, values = values[:n], values[n:]
        parts.append((part, bool(values)))
        if not values:
            return parts


def _fit(values: list[LastValue]) -> int:
    """Return how many of the first values fit into one reply; at least one if there are any."""
    frames = size = 0
    for n, value in enumerate(values):
        frames += 1 + body_frames(value.envelope)
        size += len(value.envelope.body)
        is_full = n >= ENVELOPES_A_MESSAGE or frames > 2 * ENVELOPES_A_MESSAGE or size > MAX_CONTENT_EVER
        if n and is_full:
            return n
    return len(values)
