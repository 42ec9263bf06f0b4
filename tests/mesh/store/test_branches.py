"""Interrupted transactions end before the node starts, also over further crashes."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from mesh.operations import Append, Op, Put
from mesh.routing.branches import HiddenOps, decision_row, hidden_rows
from mesh.store.base import begin
from mesh.store.branches import finish_branches
from mesh.store.memory import MemoryStore

KEY = b"s" * 16, 7
OPS = HiddenOps(((b"header", b"body"),), (("part", b"jobs\0p", b"acked"),))


class Crash(Exception):
    """The process ends at a commit."""


class DyingStore(MemoryStore):
    """A store whose process ends at its next commit, while `is_dying`."""

    is_dying = False

    def commit(self, ops: Sequence[Op]) -> None:
        if self.is_dying:
            raise Crash
        super().commit(ops)


@pytest.mark.parametrize("dying", ["fast", "big", "", None])
@pytest.mark.parametrize("is_decided", [False, True])
def test_all_stores_have_all_or_nothing_after_a_start(dying: str | None, is_decided: bool) -> None:
    stores = {"": DyingStore(), "fast": DyingStore(), "big": DyingStore()}
    for name, store in stores.items():
        store.commit([*hidden_rows(KEY, OPS)] if name or is_decided else [])
    stores[""].commit([decision_row(KEY)] if is_decided else [])
    if dying is not None:
        stores[dying].is_dying = True
        if dying or is_decided:
            with pytest.raises(Crash):
                finish_branches(stores, {name: begin(store, 1) for name, store in stores.items()})
        stores[dying].is_dying = False
    images = {name: begin(store, 2) for name, store in stores.items()}
    finish_branches(stores, images)
    after = {name: begin(store, 2) for name, store in stores.items()}
    assert not finish_branches(stores, after)
    for image in after.values():
        assert len(list(image.envelopes)) == is_decided
        assert (image.tables["part"], image.tables["branch"]) == (
            {b"jobs\0p": b"acked"} if is_decided else {},
            {},
        )


def test_operations_of_another_kind_are_left_alone() -> None:
    store = MemoryStore()
    store.commit([Append(1, b"h", b"b"), Put("part", b"k", b"v")])
    assert not finish_branches({"": store}, {"": begin(store, 1)})


@pytest.mark.parametrize(
    ("is_lost", "accepts", "reports"), [(True, True, 1), (True, False, 0), (False, True, 0)]
)
def test_operations_that_a_lost_store_may_have_had_are_reported(
    is_lost: bool, accepts: bool, reports: int
) -> None:
    stores = {"": MemoryStore(), "fast": MemoryStore(), "big": MemoryStore()}
    stores[""].commit([decision_row(KEY, ["fast", "big"])])
    for name in ("big",) if is_lost else ("fast", "big"):
        stores[name].commit(hidden_rows(KEY, OPS))
    told = list[tuple[str, str]]()
    images = {name: begin(store, 1) for name, store in stores.items()}
    assert finish_branches(stores, images, accepts, lambda level, text: told.append((level, text)))
    assert len(told) == reports
    for level, text in told:
        assert level == "warning" and "transaction 7 of the stream 73737373" in text and "store fast" in text
    after = {name: begin(store, 1) for name, store in stores.items()}
    assert not finish_branches(stores, after, accepts, lambda level, text: told.append((level, text)))
    assert len(told) == reports
