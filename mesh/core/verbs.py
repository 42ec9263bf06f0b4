"""What is answered when somebody calls? The verbs of clients, and those of other nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mesh.core import status
from mesh.core.conn import NODE, ONLY_READS, Conn
from mesh.core.datalink import DataLinks
from mesh.core.desk import Desk
from mesh.core.effects import Stop
from mesh.core.erasing import Erasing, erasure
from mesh.core.forwarder import Forwarder
from mesh.core.gossiping import Gossiping
from mesh.core.lookup import Found, Lookup, Value
from mesh.core.neighbours import Neighbours
from mesh.core.nodes import Nodes
from mesh.core.peer import Peer
from mesh.core.routes import Routes
from mesh.core.session import Session
from mesh.core.settings import CONFIRM
from mesh.core.weights import Weights
from mesh.errors import LocalError, MasterAway
from mesh.routing.subscriptions import check_query
from mesh.wire import commands as c
from mesh.wire.frames import body_frames
from mesh.wire.limits import ENVELOPES_A_MESSAGE

RULES = ("down", "peer")  # verbs of whoever runs the node
READS = ("get", "route", "ls", "info", "events", "peers", "weights")  # verbs that change nothing


class Verbs:
    """`info` describes this node."""

    def __init__(
        self, desk: Desk, lookup: Lookup, erasing: Erasing, routes: Routes, nodes: Nodes, links: DataLinks,
        forwarder: Forwarder, neighbours: Neighbours, gossiping: Gossiping, weights: Weights,
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
        self._info = info

    # --- clients ----------------------------------------------------------------------------------------

    def from_client(self, conn: Conn, session: Session, call: c.Call) -> None:
        """A client's question. LocalError when it makes no sense."""
        a = call.arguments
        if not conn.may_write and call.verb not in READS:
            raise LocalError(ONLY_READS, code="NOT_ALLOWED")
        if conn.grant != NODE and (call.verb in RULES or (call.verb == "weights" and a)):
            what = f"{call.verb!r} is for those who have the keys of a node."
            raise LocalError(what, hint="Type it on the machine of the node.", code="NOT_ALLOWED")
        match call.verb:
            case "get":
                self._lookup.get(_query(a), lambda f: self._found(conn, call, f), fresh=bool(a.get("fresh")))
            case "erase":
                self._erase(conn, session, call)
            case "route":
                self._routes.trace(a, lambda steps: self._say(conn, call, {"steps": steps}))
            case "ls":
                self._say(conn, call, self._ls())
            case "info":
                self._say(conn, call, self._info())
            case "events":
                after = a.get("after")
                found = self._desk.events.after(after if isinstance(after, int) else 0)
                self._say(conn, call, {**found, "boot": self._desk.me.boot})
            case "peers":
                self._say(conn, call, {"peers": self._peers()})
            case "peer":
                self._say(conn, call, {"changed": self._peer(a)})
            case "weights":
                self._say(conn, call, self._weights.called(a, session.text))
            case "down":
                self._say(conn, call, {})
                self._desk.emit(Stop())
            case verb:
                raise LocalError(f"this node knows no verb {verb[:40]!r}.", code="UNKNOWN_VERB")

    def _ls(self) -> dict[str, Any]:
        s, depth = self._desk.settings, self._forwarder.tailback.depth
        rows = status.nodes(self._desk, self._neighbours, self._gossiping)
        for row in rows:
            row["tailback"] = depth(row["name"])
        seen = {row["name"] for row in rows}
        unseen = [depth(node) for node in self._forwarder.onward.hops() if node not in seen]
        unknown = {what: sum(d[what] for d in unseen) for what in ("messages", "bytes")}
        unknown["age"] = max((d["age"] for d in unseen), default=0.0)
        has_keys = s.keyring is not None
        return {"nodes": rows, "scope": s.scope, "links": s.links, "unknown": unknown, "keys": has_keys}

    def _peers(self) -> list[dict[str, Any]]:
        rows = self._neighbours.acquaintances.rows()
        for row in rows:
            member = self._neighbours.membership.by_name(row["node"]) if row["node"] else None
            row["state"] = str(member.state) if member is not None else ""
        return rows

    def _peer(self, a: dict[str, Any]) -> bool:
        acquaintances = self._neighbours.acquaintances
        if "add" in a:
            return acquaintances.add(str(a["add"]))
        return acquaintances.remove(str(a.get("rm")))

    def _erase(self, conn: Conn, session: Session, call: c.Call) -> None:
        a = call.arguments
        it = erasure(session.stream, call.request, str(a.get("key")), str(a.get("domain", "")), session.text)
        if self._forwarder.onward.holds(session.stream, it.domain):
            text = f"{it.key} was not erased: what was published before still waits for the master."
            raise MasterAway(text, hint="See `mesh ls`, and erase it again later.")

        def done(was_there: bool) -> None:
            self._say(conn, call, {"erased": [it.key] if was_there else []})

        self._erasing.erase(it, done, lambda error: self._fail(conn, call, error))

    def _found(self, conn: Conn | None, call: c.Call, found: Found) -> None:
        if not found.best and found.away:
            names = ", ".join(sorted(set(found.away)))
            text = f"{names} cannot be reached, and nothing is cached here."
            error = MasterAway(text, hint="See `mesh ls`.")
            self._fail(conn, call, error)
            return
        self._values(conn, call, found.values, found.missing, [[v.source, v.age] for v in found.values], [])

    # --- nodes ------------------------------------------------------------------------------------------

    def from_peer(self, peer: Peer, call: c.Call) -> None:
        """Another node's question."""
        a = call.arguments
        visited = [str(name) for name in v] if isinstance(v := a.get("visited"), list) else []
        within = min(CONFIRM, float(w)) if isinstance(w := a.get("within"), int | float) else CONFIRM
        try:
            match call.verb:
                case "get":
                    self._get(peer, call, visited, within)
                case "erase":
                    self._erase_for(peer, call, within)
                case "where":
                    self._where(peer, call, visited, within)
                case "route":
                    self._routes.trace(a, lambda steps: self._say(peer.data, call, {"steps": steps}))
                case "weights":
                    self._say(peer.control or peer.data, call, self._weights.told())
                case verb:
                    raise LocalError(f"no verb {verb[:40]!r}", code="UNKNOWN_VERB")
        except LocalError as error:
            self._fail(peer.data, call, error)

    def _get(self, peer: Peer, call: c.Call, visited: list[str], within: float) -> None:
        after = bool(call.arguments.get("after"))
        query = _query(call.arguments)

        def came(found: Found) -> None:
            self._found_for(peer, call, found, after)

        self._lookup.get_for(peer, query, came, visited, within, after)

    def _found_for(self, peer: Peer, call: c.Call, found: Found, after: bool) -> None:
        def send() -> None:
            sources = [[v.source or self._desk.me.name, v.age, v.master] for v in found.values]
            self._values(peer.data, call, found.values, found.missing, sources, found.away)

        if after:
            self._links.reply_after(peer, send)
        else:
            send()

    def _erase_for(self, peer: Peer, call: c.Call, within: float) -> None:
        def came(was_there: bool, away: list[str]) -> None:
            self._say(peer.data, call, {"erased": was_there, "away": away})

        self._erasing.erase_for(peer, call.arguments, within, came)

    def _where(self, peer: Peer, call: c.Call, visited: list[str], within: float) -> None:
        node = str(call.arguments.get("node"))
        if node == self._desk.me.name:
            self._say(peer.data, call, {"hops": 0})
        else:
            self._nodes.whereabouts.find(
                node, visited, within, lambda way, hops: self._say(peer.data, call, {"hops": hops})
            )

    # --- replies ----------------------------------------------------------------------------------------

    def _say(self, conn: Conn | None, call: c.Call, value: dict[str, Any]) -> None:
        self._desk.send(conn, c.Reply(call.request, value))

    def _fail(self, conn: Conn | None, call: c.Call, error: LocalError) -> None:
        self._desk.send(conn, c.Reply(call.request, code=error.code, text=str(error)))

    def _values(
        self, conn: Conn | None, call: c.Call, values: list[Value], missing: list[str], sources: list[Any],
        away: list[str],
    ) -> None:  # fmt: skip
        """All values, in as many messages as they need."""
        while True:
            n = _fit(values)
            part = [value.envelope for value in values[:n]]
            more = n < len(values)
            value = {"more": more, "missing": missing, "sources": sources[:n], "away": away}
            self._desk.send(conn, c.Reply(call.request, value, frames=tuple(map(body_frames, part))), part)
            values, sources = values[n:], sources[n:]
            if not more:
                return


def _query(a: dict[str, Any]) -> c.Query:
    return check_query(c.Query(str(a.get("kind")), str(a.get("text")), str(a.get("domain", ""))))


def _fit(values: list[Value]) -> int:
    """How many of them go into one message."""
    frames = 0
    for n, value in enumerate(values):
        frames += 1 + body_frames(value.envelope)
        if n and (n >= ENVELOPES_A_MESSAGE or frames > 2 * ENVELOPES_A_MESSAGE):
            return n
    return len(values)
