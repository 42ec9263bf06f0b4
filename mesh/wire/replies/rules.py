"""Replies about rules, weights and other rows that nodes share."""

from __future__ import annotations

from mesh.wire.replies.value import ReplyValue


class ReloadTold(ReplyValue, frozen=True, kw_only=True):
    """The changes of a reloaded configuration.

    Attributes:
        now: Changes that are in effect.
        later: Names of settings that take effect after a restart.
    """

    now: list[str] = []
    later: list[str] = []


class RulesTold(ReplyValue, frozen=True, kw_only=True):
    """The rules that all nodes share. Stamps are in ns since 1970; a stamp of 0 means that there are none.

    Attributes:
        value: Encoded rules.
        stamp: Stamp of their row.
        next: Stamp for a newer row.
        own: Rules of this node's settings, encoded. Empty: none, or too long.
        keys: Whether the mesh has keys.
        admin: Public key of the admin.
        signature: Signature of the row.
        behind: Names of nodes that do not apply the rules yet, at most 16.
        changing: Whether this node is about to apply them.
        refused: Why this node does not apply them.
    """

    value: bytes
    stamp: int
    next: int
    own: bytes = b""
    keys: bool = False
    admin: bytes = b""
    signature: bytes = b""
    behind: list[str] = []
    changing: bool = False
    refused: str = ""


class RulesPut(ReplyValue, frozen=True, kw_only=True):
    """Nodes that do not have the new rules yet.

    Attributes:
        missing: Names of nodes that did not answer within 2 s, at most 16.
        away: Names of disconnected nodes, at most 16.
    """

    missing: list[str] = []
    away: list[str] = []


class Changed(ReplyValue, frozen=True, kw_only=True):
    """The result of a call that may change something.

    Attributes:
        changed: Whether the call changed anything.
    """

    changed: bool


class Released(ReplyValue, frozen=True, kw_only=True):
    """The result of releasing the inboxes of a client.

    Attributes:
        released: Names of the released inboxes.
    """

    released: list[str]


class WeightsRead(ReplyValue, frozen=True, kw_only=True):
    """The weights of nodes. Times are in ns since 1970.

    Attributes:
        stamp: Stamp of the weights. 0: there are none.
        made: Time at which they were made.
        expires: Time at which they expire.
        by: Session that set them.
        weights: By node: weight and reason.
        expired: Whether they are ignored because they have expired.
        behind: Names of nodes that do not have them yet, at most 16.
        strategy: Balancer of this node.
    """

    stamp: int
    made: int
    expires: int
    by: str
    weights: dict[str, tuple[float, str]]
    expired: bool
    behind: list[str]
    strategy: str


class Applied(ReplyValue, frozen=True, kw_only=True):
    """The result of setting weights.

    Attributes:
        stamp: Stamp of the new weights.
        unknown: Names of nodes with a new weight that this node never met, at most 16.
    """

    stamp: int
    unknown: list[str] = []


class WeightsTold(ReplyValue, frozen=True, kw_only=True, omit_defaults=True):
    """Between nodes: the weights of nodes.

    Attributes:
        set: `[STAMP, MADE, EXPIRES, BY, WEIGHTS]`, or nothing.
    """

    set: object = None


class Takers(ReplyValue, frozen=True):
    """Between nodes: the use of a queue at a node.

    Attributes:
        takers: Number of consumers.
        messages: Number of messages.
    """

    takers: int = 0
    messages: int = 0


class RowsTold(ReplyValue, frozen=True, kw_only=True):
    """Between nodes: shared rows.

    The value of a row of kind `weights` is the list in WeightsTold. A row of kind `durable` has a map with
    `queries`: kind, text and domain of each, sorted by domain, text and kind. A row of kind `rules` has a
    map: `nodes` has `rules` and `allowed` for each node, `base` is the stamp of the previous rules, and `by`
    is the author.

    Attributes:
        rows: The next rows, at most 64. Empty: there are no more.
    """

    rows: list[object] = []


class StateTold(ReplyValue, frozen=True, kw_only=True, omit_defaults=True):
    """Between nodes: the newest known state of the requesting node.

    Attributes:
        line: A StateLine, or nothing.
    """

    line: object = None
