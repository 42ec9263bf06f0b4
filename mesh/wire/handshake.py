"""Commands of a handshake, and the introductions of nodes."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from mesh.discovery.state import Natural
from mesh.wire.command import Command, command
from mesh.wire.limits import FRAME
from mesh.wire.metadata import NOTHING

NODE_CONTROL, NODE_DATA, CLIENT, RELAY = "control", "data", "client", "relay"  # roles of a connection


class Introduction(msgspec.Struct, frozen=True, array_like=True):
    """A node as it introduces itself to other nodes.

    Attributes:
        uuid: Id of the node, 16 bytes, created once and kept.
        name: Name, unique in the mesh, 1 to 64 of `A-Z a-z 0-9 _ . : -`.
        boot: Number of this start of the node, below 2²². It grows with each start.
        address: TCP address of its ROUTER socket. `""`: it accepts no TCP connections.
        also: Addresses of the same socket on other interfaces, at most 8.
        gossip: TCP address of its PUB socket. `tcp://*:PORT` is that port at the host that was reached.
        key: Public Ed25519 key, 32 bytes, in a mesh with keys.
        metadata: Texts by name that the node publishes about itself, at most 512 bytes. A map that is longer,
            or holds anything else, counts as empty. Only the node itself sends them.
    """

    uuid: bytes
    name: str
    boot: Natural
    address: str
    also: tuple[str, ...] = ()
    gossip: str = ""
    key: bytes = b""
    metadata: msgspec.Raw = NOTHING


@command
class Hello(Command, frozen=True, tag=1):
    """The first command of a connection, from the side that dialed.

    Attributes:
        versions: Oldest and newest wire version that the sender knows.
        role: `"client"`; of a node `"control"`, `"data"`, or `"dial_back"` for a connection that ends
            after the handshake; of a gateway of another site `"relay"`.
        cluster: Name of the mesh; from a client `""` for any, from a gateway the site that it dials.
        nonce: 16 random bytes, new for each connection.
        proof: Proof of the secret, 32 bytes. Only over TCP, in reply to a CHALLENGE.
        node: Of a node: its introduction.
        client: Of a client: its name, 1 to 64 of `A-Z a-z 0-9 _ . : -`, not beginning with `__sys__`.
        session: Of a client: a number from 1 up, 0 for a negative one that the node chooses, or WELCOME's.
        stream: Of a client: its stream id, 16 bytes, derived from `key`.
        token: Of a client: the token from WELCOME that resumes its session.
        boot_seen: Boot of the other end in the last WELCOME, to which `have` refers.
        have: Number of the last ITEMS received from the other end.
        next: Of a node: number of the next ITEMS that it sends.
        signature: Of a client, after CHALLENGE: signature by `key`, 64 bytes. Of a node: signature by its
            Ed25519 key; without keys a MAC of 32 bytes that only the node itself can check.
        software: Name and version of the software, for logs.
        passwd: Password of the node, where it requires one. Only over CURVE.
        alive: Of a node: the number of nodes that it counts as alive, itself included.
        key: Of a client: public half of the Ed25519 key of its stream, 32 bytes.
        process: Of a node: 16 bytes of its process: `born`, its start in ns since 1970 (8 bytes, big-endian)
            and 4 random bytes.
        speaks: Features of the sender.
        named: Of a client: `false` if its name was generated. Then only its session has an inbox.
        site: Of a gateway: the site that it belongs to.
        wall: Clock of the sender, in ns since 1970. 0: not given.
        home: Of a client: the node in the name of its session. `""`: the dialed node.
        attach: Of a client: the number of its last visit, see ATTACH. 0: none.
    """

    versions: tuple[int, int]
    role: str
    cluster: str
    nonce: bytes
    proof: bytes = b""
    node: Introduction | None = None
    client: str = ""
    session: int = 0
    stream: bytes = b""
    token: bytes = b""
    boot_seen: Natural = 0
    have: Natural = 0
    next: Natural = 1
    signature: bytes = b""
    software: str = ""
    passwd: str = ""
    alive: Natural = 0
    key: bytes = b""
    process: bytes = b""
    speaks: tuple[str, ...] = ()
    named: bool = True
    site: str = ""
    wall: Natural = 0
    home: str = ""
    attach: Natural = 0


@command
class Challenge(Command, frozen=True, tag=2):
    """Reply to a HELLO over TCP that has no proof.

    Attributes:
        nonce: 16 random bytes.
        endpoint: Address to which the node is bound; in a mesh with keys its name.
        uuid: Id of the node. The client signs for this node only.
    """

    nonce: bytes
    endpoint: str
    uuid: bytes = b""


@command
class Welcome(Command, frozen=True, tag=3):
    """Acceptance of a HELLO.

    Attributes:
        version: Wire version of this connection, the newest that both ends know.
        node: The node that was dialed.
        cluster: Name of its mesh.
        proof: Proof of the secret, 32 bytes. Only over TCP.
        boot_seen: To a node: boot of the dialing node to which `have` refers.
        have: To a node: number of the last ITEMS received from that node.
        next: Number of the next ITEMS that the node sends.
        session: To a client: name of its session, `/node/NODE/client/CLIENT/session/NUMBER`.
        token: To a client: token that resumes this session.
        max_content: To a client: limit of the content of one message, in bytes.
        window: To a client: bytes of bodies, and envelopes, that may be unanswered.
        nodes: Other nodes: to a node all, none in a mesh of more than 32; to a client at most 8 with room.
        signature: Signature of the proven text by the node's Ed25519 key, 64 bytes; without keys a MAC of 32
            bytes that only the node itself can check.
        passwd: To a node, in a mesh with keys: password of the dialing node, where that requires one.
        alive: To a node: as in HELLO.
        speaks: Features of the node.
        wall: As in HELLO.
        sites: To a client: other sites that it may go to, each with addresses in the order to try them.
        transaction_bytes: To a client: limit of the bodies of one transaction, in bytes. 0: 8 MiB.
    """

    limit: ClassVar[int] = FRAME

    version: int
    node: Introduction
    cluster: str
    proof: bytes = b""
    boot_seen: Natural = 0
    have: Natural = 0
    next: Natural = 1
    session: str = ""
    token: bytes = b""
    max_content: Natural = 0
    window: tuple[Natural, Natural] = (0, 0)
    nodes: tuple[Introduction, ...] = ()
    signature: bytes = b""
    passwd: str = ""
    alive: Natural = 0
    speaks: tuple[str, ...] = ()
    wall: Natural = 0
    sites: tuple[tuple[str, tuple[str, ...]], ...] = ()
    transaction_bytes: Natural = 0


@command
class Refuse(Command, frozen=True, tag=4):
    """Refusal of a HELLO, or of a message that breaks the protocol. It ends the connection.

    Unless `final`, dial again after a random delay that grows from 0.05 s to 2 s. Published messages stay.

    Attributes:
        code: Code of the reason.
        reason: Reason, in words.
        hint: What the user can do.
        final: Whether dialing again is useless until the user changes something.
        proof: As in WELCOME, with the role `"refuser"`. Only over TCP without keys, after a CHALLENGE.
        process: With `SAME_UUID`: process of the refusing node, as in HELLO.
        key: With `SAME_UUID`, in a mesh with keys: its Ed25519 key, 32 bytes.
        signature: With `SAME_UUID`: signature of the proven text by `key`; without keys a MAC of 32 bytes.
        forward: To a client: addresses of other nodes that may accept it, the best one first, at most 8.
        retry_ms: To a client: earliest time to dial this node again, in ms from now. 0: not given.
    """

    code: str
    reason: str
    hint: str = ""
    final: bool = False
    proof: bytes = b""
    process: bytes = b""
    key: bytes = b""
    signature: bytes = b""
    forward: tuple[str, ...] = ()
    retry_ms: Natural = 0


@command
class Peers(Command, frozen=True, tag=9):
    """Nodes that joined the mesh.

    In a mesh of more than 32 nodes, rumors replace this command.

    Attributes:
        nodes: Their introductions.
    """

    limit: ClassVar[int] = FRAME

    nodes: tuple[Introduction, ...]


@command
class Login(Command, frozen=True, tag=10):
    """Request to the dialing node to dial the data connection as well."""
