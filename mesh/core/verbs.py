"""What is answered when somebody calls? The verbs of clients, and those of other nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from mesh.core import status
from mesh.core.asking.erasing import Erasing, erasure
from mesh.core.asking.lookup import Found, Lookup, Value
from mesh.core.desk.conn import NODE, ONLY_READS, Conn
from mesh.core.desk.desk import Desk
from mesh.core.desk.effects import Stop
from mesh.core.desk.pages import NAMES, listed, page
from mesh.core.desk.part import Part, Right, Verb
from mesh.core.desk.settings import CONFIRM
from mesh.core.forwarding.forwarder import Forwarder
from mesh.core.forwarding.routes import Routes
from mesh.core.peers.neighbours import Neighbours
from mesh.core.peers.peer import Peer
from mesh.core.states.gossiping import Gossiping
from mesh.core.states.recall import Recall
from mesh.core.subscribers.datalink import DataLinks
from mesh.core.subscribers.owners import Owners
from mesh.core.subscribers.privacy import as_seen_by
from mesh.core.subscribers.session import Session
from mesh.core.telling.weights import Weights
from mesh.core.ways.nodes import Nodes
from mesh.errors import BadQuery, LocalError, MasterAway, shown
from mesh.reserved import DEAD
from mesh.routing.subscriptions import check_query
from mesh.values import check_domain
from mesh.wire import commands as c
from mesh.wire.frames import body_frames
from mesh.wire.limits import ENVELOPES_A_MESSAGE, MAX_CONTENT_EVER

VISITED = 2048  # names of nodes that a question may carry: more were too much for who is asked next
LONGEST = 64  # letters of a name


class Verbs(Part):
    """`info` describes this node."""

    def __init__(
        self, desk: Desk, lookup: Lookup, erasing: Erasing, routes: Routes, nodes: Nodes, links: DataLinks,
        forwarder: Forwarder, neighbours: Neighbours, gossiping: Gossiping, weights: Weights, owners: Owners,
        recall: Recall,
        info: Callable[[], dict[str, Any]],
    ) -> None:  # fmt: skip
        self._desk = desk
        self._lookup = lookup
        self._erasing = erasing
        self._routes = routes
        self._nodes = nodes
        self._links = links
        self._forwarder = forwarder
        self._neighbours = neighbours
        self._gossiping = gossiping
        self._weights = weights
        self._owners = owners
        self._recall = recall
        self._info = info

    # --- clients ----------------------------------------------------------------------------------------

    def from_client(self, conn: Conn, session: Session, call: c.Call) -> None:
        """A client's question. LocalError when it makes no sense."""
        verb = self._desk.face.client_verbs.get(call.verb)
        if not conn.may_write and (verb is None or verb.right is not Right.READ):
            raise LocalError(ONLY_READS, code="NOT_ALLOWED")
        if verb is None:
            raise LocalError(f"this node knows no verb {call.verb[:40]!r}.", code="UNKNOWN_VERB")
        if verb.right is Right.RUN:
            _check_keys(conn, call)
        verb.then(conn, session, call)

    def client_verbs(self) -> Sequence[Verb]:
        say = self._say
        return (
            Verb("get", self._get_for_client),
            Verb("erase", self._erase_if_readable, Right.WRITE),
            Verb("route", self._route),
            Verb("ls", lambda conn, _, call: say(conn, call, self._ls(call.arguments))),
            Verb("info", lambda conn, _, call: say(conn, call, self._info())),
            Verb("events", self._events),
            Verb("peers", lambda conn, _, call: say(conn, call, self._peers(call.arguments))),
            Verb("where", lambda conn, _, call: say(conn, call, self._address(call.arguments))),
            Verb("peer", lambda conn, _, call: say(conn, call, self._peer(call.arguments)), Right.RUN),
            Verb("inbox", self._inbox, Right.RUN),
            Verb("weights", self._weigh),
            Verb("down", self._down, Right.RUN),
        )

    def _get_for_client(self, conn: Conn, session: Session, call: c.Call) -> None:
        fresh = bool(call.arguments.get("fresh"))
        self._lookup.get(_query(call.arguments), lambda f: self._found(conn, session, call, f), fresh=fresh)

    def _route(self, conn: Conn, who: Any, call: c.Call) -> None:
        self._routes.trace(call.arguments, lambda steps: self._say(conn, call, {"steps": steps}))

    def _events(self, conn: Conn, session: Session, call: c.Call) -> None:
        after = call.arguments.get("after")
        found = self._desk.events.after(after if isinstance(after, int) else 0)
        self._say(conn, call, {**found, "boot": self._desk.me.boot})

    def _inbox(self, conn: Conn, session: Session, call: c.Call) -> None:
        released = self._owners.release(str(call.arguments.get("release")))
        self._say(conn, call, {"released": released})

    def _weigh(self, conn: Conn, session: Session, call: c.Call) -> None:
        if call.arguments:
            _check_keys(conn, call)
        self._say(conn, call, self._weights.called(call.arguments, session.text))

    def _down(self, conn: Conn, session: Session, call: c.Call) -> None:
        self._say(conn, call, {})
        self._desk.emit(Stop())

    def _ls(self, a: dict[str, Any]) -> dict[str, Any]:
        """All nodes, in pages."""
        rows, after = page(status.places(self._neighbours), self._node, a)
        s = self._desk.settings
        near = [list(it) for it in self._desk.near]
        found = {"nodes": rows, "next": after, "scope": s.scope, "links": s.links, "near": near}
        return {**found, "unknown": self._unknown(), "keys": s.keyring is not None}

    def _node(self, place: str) -> dict[str, Any] | None:
        row = status.node(self._desk, self._neighbours, self._gossiping, place)
        if row is not None:
            row["tailback"] = self._forwarder.tailback.depth(row["name"])
        return row

    def _unknown(self) -> dict[str, Any]:
        """What waits for nodes that are not in the list."""
        n, depth = self._neighbours, self._forwarder.tailback.depth
        hops = self._forwarder.onward.hops()
        # Of whom others said that it is dead before we met it, we know that much and have no row.
        unseen = [depth(hop) for hop in hops if n.named(hop) is None or n.membership.by_name(hop) is None]
        unknown = {what: sum(d[what] for d in unseen) for what in ("messages", "bytes")}
        return {**unknown, "age": max((d["age"] for d in unseen), default=0.0)}

    def _peers(self, a: dict[str, Any]) -> dict[str, Any]:
        """All addresses, in pages."""
        found = self._neighbours.acquaintances.rows()

        def row(place: str) -> dict[str, Any]:
            name = found[place]["node"]
            member = self._neighbours.membership.by_name(name) if name else None
            return {**found[place], "state": str(member.state) if member is not None else ""}

        rows, after = page(found, row, a)
        return {"peers": rows, "next": after}

    def _address(self, a: dict[str, Any]) -> dict[str, Any]:
        """Where a program can dial the node of that name; "" when nobody can, or it is not known."""
        name = str(a.get("node"))
        if name == self._desk.me.name:
            return {"address": self._desk.me.address}
        peer = self._neighbours.named(name)
        return {"address": "" if peer is None else status.address(peer)}

    def _peer(self, a: dict[str, Any]) -> dict[str, Any]:
        acquaintances = self._neighbours.acquaintances
        if "add" in a:
            return {"changed": acquaintances.add(str(a["add"]))}
        return {"changed": acquaintances.remove(str(a.get("rm")))}

    def _erase_if_readable(self, conn: Conn, session: Session, call: c.Call) -> None:
        """Whoever may not read a dead letter may not take it away either."""
        key = str(call.arguments.get("key"))
        if conn.grant == NODE or not key.startswith(DEAD):
            self._erase(conn, session, call)
            return

        def found(found: Found) -> None:
            if all(as_seen_by(session, value.envelope) is value.envelope for value in found.values):
                self._erase(conn, session, call)
            else:
                what = f"{key} was for one receiver: it is taken away by that one, its sender, or a node."
                self._fail(conn, call, LocalError(what, hint="See `mesh dlq ls`.", code="NOT_ALLOWED"))

        self._lookup.get(c.Query("exact", key), found)

    def _erase(self, conn: Conn, session: Session, call: c.Call) -> None:
        a = call.arguments
        it = erasure(session.stream, call.request, _text(a, "key"), _text(a, "domain", ""), session.text)
        if self._forwarder.onward.holds(session.stream, it.domain):
            text = f"{it.key} was not erased: what was published before still waits for the master."
            raise MasterAway(text, hint="See `mesh ls`, and erase it again later.")

        def done(was_there: bool) -> None:
            self._say(conn, call, {"erased": [it.key] if was_there else []})

        self._erasing.erase(it, done, lambda error: self._fail(conn, call, error))

    def _found(self, conn: Conn | None, session: Session, call: c.Call, found: Found) -> None:
        if not found.best and found.away:
            text = f"{listed(found.away)} cannot be reached, and nothing is cached here."
            error = MasterAway(text, hint="See `mesh ls`.")
            self._fail(conn, call, error)
            return
        values = [replace(value, envelope=as_seen_by(session, value.envelope)) for value in found.values]
        self._values(conn, call, values, found.missing, [[v.source, v.age] for v in found.values], [])

    # --- nodes ------------------------------------------------------------------------------------------

    def from_peer(self, conn: Conn, peer: Peer, call: c.Call) -> None:
        """Another node's question."""
        verb = self._desk.face.peer_verbs.get(call.verb)
        try:
            visited = call.arguments.get("visited")
            if isinstance(visited, list) and len(visited) > VISITED:
                raise LocalError(f"it was at {len(visited)} nodes before", code="TOO_MANY_HOPS")
            if verb is None:
                raise LocalError(f"no verb {call.verb[:40]!r}", code="UNKNOWN_VERB")
            verb.then(conn, peer, call)
        except LocalError as error:
            self._fail(peer.data, call, error)

    def peer_verbs(self) -> Sequence[Verb]:
        return (
            Verb("get", self._get),
            Verb("erase", self._erase_for),
            Verb("where", self._where),
            Verb("route", lambda _, peer, call: self._route_for(peer, call)),
            Verb("weights", lambda _, peer, call: self._tell(peer, call, self._weights.told())),
            Verb("state", lambda _, peer, call: self._tell(peer, call, self._recall.told(peer))),
        )

    def _tell(self, peer: Peer, call: c.Call, value: dict[str, Any]) -> None:
        """By a connection that is there in any case."""
        self._say(peer.control or peer.data, call, value)

    def _route_for(self, peer: Peer, call: c.Call) -> None:
        self._routes.trace(call.arguments, lambda steps: self._say(peer.data, call, {"steps": steps}))

    def _get(self, conn: Conn, peer: Peer, call: c.Call) -> None:
        after = bool(call.arguments.get("after"))
        query = _query(call.arguments)

        def came(found: Found) -> None:
            self._found_for(peer, call, found, after)

        self._lookup.get_for(peer, query, came, _visited(call), _within(call), after)

    def _found_for(self, peer: Peer, call: c.Call, found: Found, after: bool) -> None:
        def send() -> None:
            sources = [[v.source or self._desk.me.name, v.age, v.master] for v in found.values]
            self._values(peer.data, call, found.values, found.missing, sources, found.away)

        if after:
            self._links.reply_after(peer, send)
        else:
            send()

    def _erase_for(self, conn: Conn, peer: Peer, call: c.Call) -> None:
        def came(was_there: bool, away: list[str]) -> None:
            self._say(peer.data, call, {"erased": was_there, "away": list(dict.fromkeys(away))[:NAMES]})

        def failed(error: LocalError) -> None:
            self._fail(peer.data, call, error)

        self._erasing.erase_for(peer, call.arguments, _within(call), came, failed)

    def _where(self, conn: Conn, peer: Peer, call: c.Call) -> None:
        node = str(call.arguments.get("node"))
        if node == self._desk.me.name:
            self._say(peer.data, call, {"hops": 0})
        else:
            self._nodes.whereabouts.find(
                node,
                _visited(call),
                _within(call),
                lambda way, hops: self._say(peer.data, call, {"hops": hops}),
            )

    # --- replies ----------------------------------------------------------------------------------------

    def _say(self, conn: Conn | None, call: c.Call, value: dict[str, Any]) -> None:
        self._desk.send(conn, c.Reply(call.request, value))

    def _fail(self, conn: Conn | None, call: c.Call, error: LocalError) -> None:
        self._desk.send(conn, c.Reply(call.request, code=error.code, text=str(error)))

    def _values(
        self,
        conn: Conn | None,
        call: c.Call,
        values: list[Value],
        missing: list[str],
        sources: list[Any],
        away: list[str],
    ) -> None:
        """All values, in as many messages as they need."""
        while True:
            n = _fit(values)
            part = [value.envelope for value in values[:n]]
            more = n < len(values)
            value = {
                "more": more,
                "missing": missing[:NAMES],
                "sources": sources[:n],
                "away": list(dict.fromkeys(away))[:NAMES],
            }
            self._desk.send(conn, c.Reply(call.request, value, frames=tuple(map(body_frames, part))), part)
            values, sources = values[n:], sources[n:]
            if not more:
                return


def _check_keys(conn: Conn, call: c.Call) -> None:
    if conn.grant != NODE:
        what = f"{call.verb!r} is for those who have the keys of a node."
        raise LocalError(what, hint="Type it on the machine of the node.", code="NOT_ALLOWED")


def _visited(call: c.Call) -> list[str]:
    """The nodes where a question has been, whatever somebody says."""
    said = call.arguments.get("visited")
    return [str(name)[:LONGEST] for name in said] if isinstance(said, list) else []


def _within(call: c.Call) -> float:
    """Seconds that whoever asks waits for the answer."""
    said = call.arguments.get("within")
    return min(CONFIRM, float(said)) if isinstance(said, int | float) else CONFIRM


def _query(a: dict[str, Any]) -> c.Query:
    return check_query(c.Query(_text(a, "kind"), _text(a, "text"), check_domain(_text(a, "domain", ""))))


def _text(a: dict[str, Any], name: str, default: str | None = None) -> str:
    """An argument that is a text; BadQuery for one that is not there, or is anything else."""
    value = a.get(name, default)
    if not isinstance(value, str):
        raise BadQuery(f"{name} is {shown(value)}, not a text.", hint="See docs/wire.md.")
    return value


def _fit(values: list[Value]) -> int:
    """How many of them go into one message. A node's connection may hold no more of one (see the guard)."""
    frames = size = 0
    for n, value in enumerate(values):
        frames += 1 + body_frames(value.envelope)
        size += len(value.envelope.body)
        is_full = n >= ENVELOPES_A_MESSAGE or frames > 2 * ENVELOPES_A_MESSAGE or size > MAX_CONTENT_EVER
        if n and is_full:
            return n
    return len(values)
