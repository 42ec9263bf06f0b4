"""Replies about topics, routes, names and reasons."""

from __future__ import annotations

from msgspec import Struct

from mesh.wire.replies.value import ReplyValue, Source


class Values(ReplyValue, frozen=True, kw_only=True):
    """Between nodes: retained values, which follow as envelopes with flag 4.

    Attributes:
        more: Whether another REPLY to the same request follows.
        missing: Names of nodes that did not answer in time.
        away: Names of masters that are unreachable.
        sources: For each envelope: node, seconds since its master was reachable (`nil`: it is current), id of
            the master.
    """

    more: bool = False
    missing: list[str] = []
    away: list[str] = []
    sources: list[Source] = []


class ClientValues(ReplyValue, frozen=True, kw_only=True):
    """Retained values, which follow as envelopes with flag 4.

    Attributes:
        more: Whether another REPLY to the same request follows.
        missing: Names of nodes that did not answer in time, at most 256.
        sources: For each envelope: node, seconds since its master was reachable (`nil`: it is current).
        away: Always empty.
    """

    more: bool
    missing: list[str]
    sources: list[tuple[str, float | None]]
    away: list[str] = []


class ClientRows(ReplyValue, frozen=True, kw_only=True):
    """Connected sessions of clients.

    Attributes:
        clients: Names of the sessions, at most 1,000.
        too_many: Whether more sessions match.
        missing: Names of nodes that did not answer within 2 s, or cannot.
    """

    clients: list[str] = []
    too_many: bool = False
    missing: list[str] = []


class Erased(ReplyValue, frozen=True, kw_only=True):
    """Between nodes: the result of an erasure.

    Attributes:
        erased: Whether the topic existed.
        away: Names of masters that are unreachable, or reasons why they cannot erase it.
    """

    erased: bool = False
    away: list[str] = []


class ClientErased(ReplyValue, frozen=True, kw_only=True):
    """The result of an erasure.

    Attributes:
        erased: The key, or nothing if there was no such topic.
    """

    erased: list[str]


class Hops(ReplyValue, frozen=True, kw_only=True):
    """Between nodes: the distance of a node.

    Attributes:
        hops: Number of hops. -1: unreachable.
    """

    hops: int = -1


class Address(ReplyValue, frozen=True, kw_only=True):
    """The address of a node.

    Attributes:
        address: Address to dial. Empty: not known, or the node accepts no connections.
    """

    address: str


class Step(Struct, frozen=True, kw_only=True):
    """The step of one node on a route.

    Attributes:
        node: Name of the node.
        decision: `"here"`, `"forward"`, `"wait"`, `"refuse"`, or `"unknown"` if it did not answer.
        next: Name of the next node, or `site/NAME`. Several masters are separated by commas.
        why: Reason, in words.
        code: Code of a refusal.
        state: State of the link to the next node.
    """

    node: str = ""
    decision: str = ""
    next: str = ""
    why: str = ""
    code: str = ""
    state: str = ""


class Steps(ReplyValue, frozen=True, kw_only=True):
    """The steps of a route.

    Attributes:
        steps: One step for each node, at most 128.
    """

    steps: list[Step] = []


class TreeRow(Struct, frozen=True, kw_only=True):
    """The route of one node to the master of a domain.

    Attributes:
        node: Name of the node.
        stratum: Number of hops. -1: there is no route.
        way: Names of the nodes on the route, this one first, the master last.
        latency: Latency of a message on the route, in s.
        by: Rule by which the node claims the domain.
        broken: Names of candidate next hops that have no route, each with the reason.
    """

    node: str = ""
    stratum: int = -1
    way: list[str] = []
    latency: float = 0.0
    by: str = ""
    broken: list[tuple[str, str]] = []


class Tree(ReplyValue, frozen=True, kw_only=True):
    """Distances of the nodes from a master.

    Attributes:
        domain: Name of the domain.
        rows: One row for each node that answered, at most 1,000.
        domains: Without a domain: the domains that rules name.
        missing: Names of nodes that did not answer within 2 s.
    """

    domain: str = ""
    rows: list[TreeRow] = []
    domains: list[str] = []
    missing: list[str] = []


class Reason(Struct, frozen=True, kw_only=True):
    """A reason for the state of an object, as one component of one node reports it.

    Attributes:
        node: Name of the node.
        room: Name of the component.
        code: Code of the reason.
        rank: `"cause"`, `"perhaps"` or `"state"`.
        says: Reason, in words.
        hint: What the user can do.
        about: Names of nodes that it is about.
    """

    node: str = ""
    room: str = ""
    code: str = ""
    rank: str = ""
    says: str = ""
    hint: str = ""
    about: list[str] = []

    @property
    def is_cause(self) -> bool:
        return self.rank == "cause"


class Reasons(ReplyValue, frozen=True, kw_only=True):
    """Reasons, causes first.

    Attributes:
        reasons: The reasons, at most 200.
        missing: Names of nodes that did not answer within 2 s.
    """

    reasons: list[Reason] = []
    missing: list[str] = []


class Sighting(Struct, frozen=True, kw_only=True):
    """A node that has a name.

    Attributes:
        kind: `"node"`, `"client"`, `"session"`, `"address"`, `"queue"` or `"site"`.
        name: Name with its kind, such as `"queue/orders"` or `"client/joe"`.
        node: Name of the node.
        by: Name of the node that reported it: the node itself, a node between, or one with `nameservice`.
        state: Of a node: as in NodeRow. Of a client or session: `"connected"` or `"away"`. Of an address:
            `"served"`. Of a queue: `"consumed"`, `"waiting"` or `"empty"`. Of a site: as in SiteRow,
            `"known"` (configured, but no link leads there) or `"own"`. `"reported"`: not confirmed by the
            node.
        count: Of a client: its sessions in that state. Of an address: servers. Of a queue: messages. Of a
            site: connected gateways there.
        life: State of the node at the replying node, as in NodeRow. Empty: the node is not known there.
        address: Address of the node, as far as the replying node knows it.
    """

    kind: str
    name: str
    node: str
    by: str
    state: str = ""
    count: int = 0
    life: str = ""
    address: str = ""


class Located(ReplyValue, frozen=True, kw_only=True):
    """The nodes that have a name, at most 1,000.

    Attributes:
        sightings: One row for each kind and node.
        near: Between nodes: similar names.
        missing: Names of nodes that did not answer in time, or have a release without this verb, at most 256.
    """

    sightings: list[Sighting] = []
    near: list[str] = []
    missing: list[str] = []
