"""Ends transactions over several stores that a crash has interrupted, before the node starts."""

from __future__ import annotations

from collections.abc import Mapping

from mesh.operations import Image
from mesh.routing.branches import completions
from mesh.store.base import Store


def finish_branches(
    stores: Mapping[str, Store], images: Mapping[str, Image], accept_rollback: bool = False
) -> bool:
    """Apply decided operations, and drop the others. Return whether `images` must be loaded again.

    Each commit leaves a state from which this function goes on after another crash. `accept_rollback`: the
    node's own store may lack decisions, so undecided operations are kept. Raises: StoreError of a store.
    """
    found = completions(images, accept_rollback)
    for each in found:
        stores[each.store].commit(each.ops)
    return bool(found)
