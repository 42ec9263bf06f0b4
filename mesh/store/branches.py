"""Ends transactions over several stores that a crash has interrupted, before the node starts."""

from __future__ import annotations

from collections.abc import Mapping

from mesh.operations import Image
from mesh.routing.branches import completions, unknown_ends
from mesh.store.base import Store
from mesh.store.room import Tell


def finish_branches(
    stores: Mapping[str, Store],
    images: Mapping[str, Image],
    accept_rollback: bool = False,
    tell: Tell | None = None,
) -> bool:
    """Apply decided operations, and drop the others. Return whether `images` must be loaded again.

    Each commit leaves a state from which this function goes on after another crash. `accept_rollback`: a
    store may lack decisions or decided operations. So undecided operations are kept, and `tell` gets the
    transactions whose operations may be lost. Raises: StoreError of a store.
    """
    if accept_rollback and tell is not None:
        for (stream, number), store in unknown_ends(images):
            what = f"transaction {number} of the stream {stream.hex()[:8]} was committed"
            tell("warning", f"{what}; if the store {store} was rolled back, its operations there are lost")
    found = completions(images, accept_rollback)
    for each in found:
        stores[each.store].commit(each.ops)
    return bool(found)
