"""Replies about other sites."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from mesh.wire.replies.nodes import Depth
from mesh.wire.replies.value import ReplyValue


class SiteLink(Struct, frozen=True, kw_only=True):
    """A gateway of this site to another site.

    Attributes:
        node: Name of the gateway.
        gateways: Names of the gateways of the other site that are connected with it.
        state: State of the link, as in NodeRow.
        why: Why one side refuses the other.
    """

    node: str
    gateways: list[str] = []
    state: str = ""
    why: str = ""


class SiteRow(Struct, frozen=True, kw_only=True):
    """A site other than this one.

    Attributes:
        site: Name of the site.
        state: `"up"`, `"down"` after an orderly shutdown, or `"unreachable"`.
        since: Age of the state, in s. `nil`: no gateway to it could be asked.
        count: Number of nodes that are alive there.
        nodes: Their names, gateways first, at most 1,000.
        links: One row for each gateway here.
        waiting: Messages for it that wait here, at all masters.
        paused: Whether the relay to it is paused.
        lacks: Messages that were dropped for lack of space since its last transfer.
    """

    site: str
    state: Literal["up", "down", "unreachable"]
    since: float | None
    count: int = 0
    nodes: list[str] = []
    links: list[SiteLink] = []
    waiting: Depth = Depth()
    paused: bool = False
    lacks: int = 0


class SiteRows(ReplyValue, frozen=True, kw_only=True):
    """Other sites, in the order of their names.

    Attributes:
        site: Name of this site. Empty: none.
        sites: One row for each site.
        next: As in NodeRows.
        missing: Names of gateways that did not answer, at most 256.
    """

    site: str = ""
    sites: list[SiteRow] = []
    next: str = ""
    missing: list[str] = []


class SitePaused(ReplyValue, frozen=True, kw_only=True):
    """The result of pausing or resuming a site.

    Attributes:
        changed: Whether the call changed anything.
    """

    changed: bool


class SiteSync(ReplyValue, frozen=True, kw_only=True):
    """Nodes that send their retained values to a site.

    Attributes:
        nodes: Their names.
        missing: Names of nodes that did not answer.
    """

    nodes: list[str] = []
    missing: list[str] = []
