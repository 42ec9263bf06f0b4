"""Questions about topics, routes and names."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from mesh.values import LONGEST_KEY
from mesh.wire.calls.ask import Carried
from mesh.wire.limits import HISTORY_MESSAGES

LONGEST_PLACE = LONGEST_KEY + 8  # characters of a name with its kind
EraseMode = Literal["", "silent", "history"]


class AskGet(Carried, frozen=True, kw_only=True):
    """Return retained values.

    Attributes:
        kind: `"exact"`, `"pattern"` or `"xpath"`.
        text: A key, pattern or XPath.
        domain: Only topics of this domain. Empty: of any domain, and of none.
        fresh: From a client: ask the master instead of the cache of this node.
        after: From a node: reply after the messages that already wait for that node.
        history: Number of messages of each topic, the latest ones. A node of an earlier release has one.
    """

    verb = "get"
    kind: str
    text: str
    domain: str = ""
    fresh: bool = False
    after: bool = False
    history: Annotated[int, Meta(ge=1, le=HISTORY_MESSAGES)] = 1


class AskErase(Carried, frozen=True, kw_only=True):
    """Erase a topic and its retained value at its master.

    Attributes:
        key: Key of the topic.
        domain: Domain of the topic. Empty: every domain in which the node knows it.
        stream: From a node: stream of the erasure.
        number: From a node: sequence number of the erasure.
        sender: From a node: session that erased the topic.
        route: From a node: names of the nodes that the erasure has passed.
        copy: From a node: whether every other master receives the erasure as well.
        mode: `"silent"`: no subscriber is notified. `"history"`: nor does the topic count as erased. Empty:
            each subscriber is notified. Only ends with the feature `quiet` know other modes.
    """

    verb = "erase"
    key: str
    domain: str = ""
    stream: Annotated[bytes, Meta(max_length=16)] = b""
    number: int = 1
    sender: str = ""
    route: list[str] = []
    copy: bool = False
    mode: EraseMode = ""


class AskWhere(Carried, frozen=True, kw_only=True):
    """Return how to reach a node: for a client its address, for a node the number of hops.

    Attributes:
        node: Name of the node.
    """

    verb = "where"
    node: str


class AskLocate(Carried, frozen=True, kw_only=True):
    """Return the nodes that have a name.

    Attributes:
        name: Name of a node, client, session, address, queue or site, with or without its kind.
        near: From a node: whether to return similar names.
    """

    verb = "locate"
    name: Annotated[str, Meta(max_length=LONGEST_PLACE)]
    near: bool = False


class AskClients(Carried, frozen=True, kw_only=True):
    """Return the connected sessions of clients that an XPath selects.

    Attributes:
        xpath: XPath over `<client name='joe' session='1' node='heron' .../>`.
    """

    verb = "clients"
    xpath: Annotated[str, Meta(max_length=256)]


class AskRoute(Carried, frozen=True, kw_only=True):
    """Return the route that a message would take.

    Attributes:
        key: Key of the message.
        domain: Domain of the message.
        to: Destination of the message.
        start: Name of the node at which it would be published. Empty: this one.
        copy: From a node: whether the message goes to several masters, of which the receiver is one.
    """

    verb = "route"
    key: str = ""
    domain: str = ""
    to: str = ""
    start: str = msgspec.field(default="", name="from")
    copy: bool = False


class AskWhy(Carried, frozen=True, kw_only=True):
    """Return the reasons for the state of an object, such as a topic.

    Attributes:
        kind: `"node"`, `"topic"`, `"message"`, `"address"`, `"queue"`, `"client"`, `"site"`, `"map"`,
            `"counter"`, `"lock"` or `"tx"`.
        text: Name, key or id.
        domain: Domain of a topic.
    """

    verb = "why"
    kind: str
    text: str
    domain: str = ""


class AskTree(Carried, frozen=True, kw_only=True):
    """Return the distance of each node from the master of a domain.

    Attributes:
        domain: Name of the domain. Empty: return the domains that rules name.
    """

    verb = "tree"
    domain: str = ""
