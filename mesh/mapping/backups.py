"""Backup masters, which replace unreachable masters, one at a time."""

# Law 1: a backup is master only while no other claim leads to a reachable node. Only one is master: the first
# in the order of the rules that is reachable or is this node itself.
# Law 2: a backup that sees a master, or a backup before it, forwards its messages. It accepts no message
# that one of them would accept.
# Law 3: a node that has just started becomes a backup only after it had time to meet living masters.
# Law 4: subscriptions go to all nodes that may ever be master, whichever are reachable now.

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from mesh.mapping.decision import Claim, NodesView


def counting(me: str, claims: Sequence[Claim], view: NodesView) -> tuple[Sequence[Claim], tuple[str, ...]]:
    """Return the claims in effect now, and the unreachable masters that a backup replaces, if one does."""
    backups = [claim for claim in claims if claim.is_backup]
    if not backups:
        return claims, ()
    others = [claim for claim in claims if not claim.is_backup]
    mine = min((claim.stratum for claim in others if claim.node == me), default=None)
    if mine == 0 or any(
        claim.node != me and (mine is None or claim.stratum < mine) and view.is_alive(claim.node)
        for claim in others
    ):
        return others, ()
    for claim in backups:
        if view.is_settled() if claim.node == me else view.is_alive(claim.node):
            masters = tuple(dict.fromkeys(other.node for other in others if other.stratum == 0))
            return (replace(claim, is_backup=False),), masters
    return others, ()


def masters_of(claims: Iterable[Claim]) -> tuple[str, ...]:
    """Return the nodes of stratum 0 that are no backups, in the order of their rules."""
    return tuple(dict.fromkeys(c.node for c in claims if c.stratum == 0 and not c.is_backup))


def holders_of(claims: Iterable[Claim]) -> tuple[str, ...]:
    """Return the nodes that may be master at some time: masters and backups."""
    return tuple(dict.fromkeys(claim.node for claim in claims if claim.stratum == 0))


def all_masters(claims: Iterable[Claim]) -> list[Claim]:
    """Return the claims with backups treated as masters."""
    return [replace(claim, is_backup=False) if claim.is_backup else claim for claim in claims]
