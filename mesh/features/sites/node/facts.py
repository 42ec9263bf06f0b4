"""Facts about connections with other sites."""

from __future__ import annotations

from dataclasses import dataclass

from mesh.kernel.context.facts import Fact
from mesh.wire.commands import Outcome

SITE = "site"  # kind of the names under which gateways announce the sites that they reach


@dataclass(frozen=True, slots=True)
class PauseChanged(Fact):
    """A site, or the neighbor through which it is reached, has been paused or resumed."""

    site: str


@dataclass(frozen=True, slots=True)
class GateChanged(Fact):
    """A gateway of another site has connected to this node, or its connection was lost or replaced.

    `is_less` means that messages in transit on the former connection may be lost.
    """

    site: str
    is_less: bool


@dataclass(frozen=True, slots=True)
class ReachChanged(Fact):
    """A neighbor's gateway has reported that it now reaches, or no longer reaches, a third site.

    `is_less` means that messages in transit to that site may be lost.
    """

    site: str
    is_less: bool


@dataclass(frozen=True, slots=True)
class ExitsChanged(Fact):
    """The gateways or connections of this site to another site have changed.

    `lost` has the uuids of gateways whose messages in transit may be lost.
    """

    site: str
    lost: frozenset[bytes]


@dataclass(frozen=True, slots=True)
class SiteAnswered(Fact):
    """Answers of another site have arrived, for messages that this node sent toward that site.

    This node is the master of the messages, the node of their sender, or a gateway through which they pass to
    a third site. `by` is the uuid of the gateway of this site that reports the answers, which may be this
    node.
    """

    site: str
    outcomes: tuple[Outcome, ...]
    by: bytes
