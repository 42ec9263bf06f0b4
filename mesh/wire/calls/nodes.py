"""Questions about nodes, their configuration and what they share."""

from __future__ import annotations

from typing import Literal

import msgspec

from mesh.wire.calls.ask import Ask, AskPage, Name, QueueName


class AskNodes(AskPage, frozen=True, kw_only=True):
    """List the nodes."""

    verb = "ls"


class AskPeers(AskPage, frozen=True, kw_only=True):
    """List the addresses that this node dials or dialed."""

    verb = "peers"


class AskEvents(Ask, frozen=True, kw_only=True):
    """List events of this node.

    Attributes:
        after: Number of the last event already seen.
    """

    verb = "events"
    after: int = 0


class AskInfo(Ask, frozen=True, kw_only=True):
    """Return the identity and the metrics of this node."""

    verb = "info"


class AskPeer(Ask, frozen=True, kw_only=True):
    """Add or remove an address that this node dials.

    Attributes:
        add: Address to add.
        remove: Address, or name of a node, to remove.
    """

    verb = "peer"
    add: str | None = None
    remove: str = msgspec.field(default="", name="rm")


class AskInbox(Ask, frozen=True, kw_only=True):
    """Release the inboxes of a client, so that another key can own them.

    Attributes:
        release: Name of the client.
    """

    verb = "inbox"
    release: str


class AskWeights(Ask, frozen=True, kw_only=True):
    """Return or set the weights of nodes.

    Attributes:
        set: New weights: a map of `made`, `expires` (ns since 1970), `weights` (`[WEIGHT, REASON]` by node)
            and optionally `cluster`.
        clear: Whether to remove the weights.
    """

    verb = "weights"
    set: object = None
    clear: bool = False


class AskTakers(Ask, frozen=True, kw_only=True):
    """Count the consumers and messages of a queue at a node.

    Attributes:
        queue: Name of the queue.
    """

    verb = "takers"
    queue: QueueName


class AskRow(Ask, frozen=True, kw_only=True):
    """Store a shared row. The reply is sent when the row is on disk.

    Attributes:
        row: The row.
    """

    verb = "row"
    row: object


class AskRows(Ask, frozen=True, kw_only=True):
    """Return the next shared rows of one kind, in the order of stamp and name.

    Attributes:
        kind: Kind of the rows.
        stamp: Stamp of the last row already seen.
        name: Name of that row.
    """

    verb = "rows"
    kind: str
    stamp: int = -1
    name: str = ""


class AskDialBack(Ask, frozen=True, kw_only=True):
    """Dial an address that the sender advertises, for at most 3 s, and return the outcome.

    Attributes:
        address: The address, as tcp://IP:PORT.
    """

    verb = "dial_back"
    address: Name


class AskState(Ask, frozen=True, kw_only=True):
    """Return the newest state that the receiver has of the sender."""

    verb = "state"


class AskLog(Ask, frozen=True, kw_only=True):
    """Set the level of a logger.

    Attributes:
        logger: Name of the logger. Empty: all.
        level: `"debug"`, `"info"`, `"warning"` or `"error"`.
    """

    verb = "log"
    logger: Name = ""
    level: Name


class AskBackup(Ask, frozen=True, kw_only=True):
    """Start a copy of the node's data into `backup` in its data directory. Only over the local socket."""

    verb = "backup"


class AskReload(Ask, frozen=True, kw_only=True):
    """Reload the configuration of the node."""

    verb = "reload"


class AskRules(Ask, frozen=True, kw_only=True):
    """Return the rules that all nodes share."""

    verb = "rules"


class AskRulesPut(Ask, frozen=True, kw_only=True):
    """Replace the rules that all nodes share.

    Attributes:
        row: Row with the rules, signed by the admin.
        was: Stamp of the rules to be replaced.
        force: Whether to replace them even while nodes are disconnected.
    """

    verb = "rules_put"
    row: object
    was: int
    force: bool = False


class AskDrain(Ask, frozen=True, kw_only=True):
    """Report, begin or cancel a drain of this node with its clients, after which it can be stopped.

    Attributes:
        do: `"look"`, `"begin"` or `"cancel"`. Cancel also ends a drain of the queues alone.
    """

    verb = "drain"
    do: Literal["look", "begin", "cancel"] = "look"


class AskDown(Ask, frozen=True, kw_only=True):
    """Stop the node."""

    verb = "down"
