"""Who stands in for masters that are away? A backup, one at a time."""

# Law 1: a backup is a master while no other claim leads anywhere, and then the only one: the first by the
#        order of the rules that can be asked, or is this node itself.
# Law 2: so a backup that sees a master, or a backup before it, hands on what it is sent. It takes nothing
#        that one of these would take.
# Law 3: who has just started is no backup before it has had the time to meet a master that lives.
# Law 4: messages are asked for of all who may ever take them, whoever is there now.

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from mesh.mapping.decision import Claim, NodesView


def counting(me: str, claims: Sequence[Claim], view: NodesView) -> tuple[Sequence[Claim], tuple[str, ...]]:
    """The claims that count now; and for whom a backup among them stands in."""
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
    """The nodes of stratum 0 that are no backups, in the order of their rules."""
    return tuple(dict.fromkeys(c.node for c in claims if c.stratum == 0 and not c.is_backup))


def holders_of(claims: Iterable[Claim]) -> tuple[str, ...]:
    """The nodes that may be master at some time: masters and backups."""
    return tuple(dict.fromkeys(claim.node for claim in claims if claim.stratum == 0))


def all_masters(claims: Iterable[Claim]) -> list[Claim]:
    """The claims, with those of backups as if they were masters."""
    return [replace(claim, is_backup=False) if claim.is_backup else claim for claim in claims]
