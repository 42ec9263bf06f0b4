"""A store with a witness that cannot be written."""

import errno
from typing import Any

import pytest

from mesh.errors import StoreError
from mesh.store.roomy import PERIOD
from mesh.store.witnessed import Witnessed
from tests.mesh.store.beneath import SMALL, Beneath, Clock, roomy


def witnessed(clock: Clock) -> tuple[Witnessed, Beneath]:
    store, beneath = roomy(clock)
    there: Any = beneath
    both = Witnessed(store, there, 1, lambda level, text: None, clock=clock)
    both.load()
    beneath.did.clear()
    return both, beneath


def test_nothing_is_committed_any_more_when_the_witness_has_failed() -> None:
    clock = Clock()
    store, beneath = witnessed(clock)
    store.commit(SMALL)
    beneath.broken, clock.now = [errno.EIO], PERIOD
    for act in (store.tend, lambda: store.commit(SMALL)):
        with pytest.raises(StoreError, match="witness failed"):
            act()
    assert (beneath.did, store.tend()) == (["commit"], None)
    store.close()
    assert "record_progress" not in beneath.did


def test_a_witness_without_room_gets_the_reserve_and_is_told_later_if_that_does_not_help() -> None:
    clock = Clock()
    store, beneath = witnessed(clock)
    store.commit(SMALL)
    beneath.broken, clock.now = [errno.ENOSPC] * 2, PERIOD
    assert store.tend() == PERIOD
    assert beneath.did == ["commit", "release_reserve", "release_reserve"]
    clock.now += PERIOD
    assert (store.tend(), beneath.did[3:]) == (None, ["record_progress"])


def test_it_wants_to_be_called_for_what_is_due_first() -> None:
    clock = Clock()
    store, beneath = witnessed(clock)
    clock.now, beneath.is_tight = PERIOD / 4, True
    assert store.tend() == PERIOD * 3 / 4, "a look at the disk"
    clock.now = PERIOD
    assert store.tend() == PERIOD, "it has looked"
    store.commit(SMALL)
    clock.now = PERIOD * 3 / 2
    assert store.tend() == PERIOD / 2
    assert beneath.did == ["measure", "commit", "record_progress"]
    beneath.is_tight = False
    assert store.tend() is None
    store.commit(SMALL)
    assert store.tend() == PERIOD, "the witness only"
