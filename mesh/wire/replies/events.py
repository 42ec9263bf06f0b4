"""Replies about the events that a node recorded."""

from __future__ import annotations

from msgspec import Struct

from mesh.wire.replies.value import ReplyValue


class ViewRow(Struct, frozen=True, kw_only=True):
    """A new view of a site, as one node sees it.

    Attributes:
        number: Number of the global view: of all sites that the node sees. It grows by 1 with each event.
        site: Name of the site.
        site_number: Number of the site's view, from 1.
        count: Number of nodes that are alive there.
        joined: Names of new nodes, at most 20.
        left: Names of nodes that are no longer seen, at most 20.
        merged: Whether the site is seen again after it had no nodes.
    """

    number: int
    site: str
    site_number: int
    count: int
    joined: list[str]
    left: list[str]
    merged: bool


class EventRow(Struct, frozen=True, kw_only=True):
    """An event that a node recorded.

    Attributes:
        number: Number of the event, from 1.
        wall: Time, in ns since 1970.
        kind: Kind of the event, such as `joined`, `suspect`, `alive`, `dead`, `left`, `restarted`, `moved`,
            `conflict`, `link`, `refused`, `interfaces`, `peer`, `clock`, `queue`, `weights`, `rules` or
            `view`.
        node: Name of the node that it is about.
        uuid: Its id, in hexadecimal.
        boot: Its boot.
        text: Event, in words.
        view: Of an event of the kind `view`: the view. Otherwise `nil`.
    """

    number: int
    wall: int
    kind: str
    node: str
    uuid: str
    boot: int
    text: str
    view: ViewRow | None = None


class EventRows(ReplyValue, frozen=True, kw_only=True):
    """Events, oldest first: at most 256, and about 128 KiB.

    A node keeps its last 1,024 events.

    Attributes:
        events: The events.
        next: Value of `after` to continue.
        boot: Boot of the node. In another boot the numbers begin again.
    """

    events: list[EventRow]
    next: int
    boot: int
