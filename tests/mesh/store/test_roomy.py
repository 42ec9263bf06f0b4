"""The reserve is released for necessary writes on a full disk, and all other writes are refused."""

import pytest

from mesh.errors import StoreFull
from mesh.operations import Append, Delete, Put
from mesh.store.roomy import PERIOD
from tests.mesh.store.beneath import GROWS, SMALL, Clock, roomy


def test_the_disk_is_looked_at_when_the_store_is_loaded_and_then_once_in_a_while() -> None:
    clock = Clock()
    store, beneath = roomy(clock)
    store.load()
    store.commit(SMALL)
    assert beneath.did == ["measure", "commit"]
    clock.now = PERIOD
    store.commit(SMALL)
    store.commit([Append(2, b"", bytes(101))])
    assert beneath.did[2:] == ["measure", "commit", "measure", "commit"]


def test_what_is_small_has_the_reserve_and_is_tried_once_more_and_what_adds_is_refused() -> None:
    store, beneath = roomy(Clock())
    store.load()
    beneath.full = 1
    store.commit(SMALL)
    assert beneath.did == ["measure", "full", "release_reserve", "checkpoint", "commit"]
    beneath.full = 1
    with pytest.raises(StoreFull):
        store.commit(GROWS)
    assert beneath.did[5:] == ["full", "release_reserve"] and store.refused == 1


def test_a_log_that_has_no_room_to_be_moved_gets_the_reserve() -> None:
    store, beneath = roomy(Clock())
    store.load()
    beneath.is_cramped = True
    store.commit(GROWS)
    assert beneath.did == ["measure", "commit", "release_reserve", "checkpoint"]


def test_the_last_commit_of_a_transaction_has_the_reserve_and_its_hidden_rows_have_not() -> None:
    store, beneath = roomy(Clock())
    store.load()
    beneath.full = 1
    store.commit([*GROWS, Delete("branch", b"k")])
    assert beneath.did[-1] == "commit"
    beneath.full = 1
    with pytest.raises(StoreFull):
        store.commit([Put("branch", b"k", b"v")])
