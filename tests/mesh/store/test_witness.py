"""The witness: two slots, of which one is always intact, and the losses of a store that they reveal."""

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mesh.errors import StoreError
from mesh.operations import BOOT, Append, Put
from mesh.store.base import begin
from mesh.store.integrity import checksum
from mesh.store.opening import open_guarded
from mesh.store.witness import SLOT, Statement, Witness, together, unpack
from mesh.store.witnessed import PERIOD, Witnessed
from tests.mesh.store.test_sqlite import surgery

ME, OTHER = b"m" * 16, b"o" * 16
TOLD = Statement(ME, 3, 1000, 77)


def test_a_slot_says_what_was_put_in() -> None:
    assert unpack(TOLD.pack()) == unpack(TOLD.pack().ljust(SLOT, b"\0")) == TOLD


def test_no_flipped_bit_and_no_cut_of_a_slot_is_believed() -> None:
    whole = TOLD.pack()
    for bit in range(8 * len(whole)):
        flipped = bytearray(whole)
        flipped[bit // 8] ^= 1 << bit % 8
        assert unpack(bytes(flipped)) is None
    assert all(unpack(whole[:length]) is None for length in range(len(whole)))
    assert unpack(b"") is None and unpack(bytes(SLOT)) is None


def test_both_slots_together_say_the_most_that_is_known_of_this_store() -> None:
    later = Statement(ME, 4, 1001, 70)
    assert together([TOLD, later], ME) == Statement(ME, 4, 1001, 77)
    assert together([None, TOLD], ME) == TOLD
    assert together([Statement(OTHER, 9, 9999, 9999), TOLD], ME) == TOLD
    assert together([None, Statement(OTHER, 9, 9999, 9999)], ME) is None


def test_slots_are_written_in_turn_and_the_newest_is_never_the_next(tmp_path: Path) -> None:
    path = tmp_path / "witness"
    for boot in range(1, 6):
        witness = Witness(path, ME, boot)
        for commits in (10 * boot, 10 * boot + 1, 10 * boot + 2)[: boot % 3 + 1]:
            witness.record_progress(commits, commits)
            slots = [unpack(path.read_bytes()[place : place + SLOT]) for place in (0, SLOT)]
            assert max(slot.commits for slot in slots if slot) == commits
            if commits > 10:
                assert all(slots), "the other one is still there"
        witness.close()


def test_after_a_torn_write_the_other_slot_counts_and_the_torn_one_is_next(tmp_path: Path) -> None:
    path = tmp_path / "witness"
    witness = Witness(path, ME, 1)
    for commits in (1, 2, 3):
        witness.record_progress(commits, commits)
    witness.close()
    newest = path.read_bytes()
    place = 0 if (slot := unpack(newest)) and slot.commits == 3 else SLOT
    path.write_bytes(newest[: place + 20] + bytes(10) + newest[place + 30 :])
    witness = Witness(path, ME, 2)
    assert witness.known == Statement(ME, 1, 2, 2)
    witness.record_progress(4, 4)
    witness.close()
    slots = [unpack(path.read_bytes()[place : place + SLOT]) for place in (0, SLOT)]
    assert sorted(slot.commits for slot in slots if slot) == [2, 4]


class Opened:
    """Guarded stores in one directory, opened one after the other, with a clock of their own."""

    def __init__(self, directory: Path) -> None:
        self.directory, self.now, self.boot = directory, 100.0, 0
        self.told: list[str] = []
        self.stores: list[Witnessed] = []

    def __call__(self, accept: bool = False, store: bytes = ME) -> Witnessed:
        self.boot += 1
        self.stores.append(
            open_guarded(
                self.directory,
                store,
                self.boot,
                0,
                lambda level, text: self.told.append(f"{level}: {text}"),
                accept,
                lambda: self.now,
            )
        )
        return self.stores[-1]

    def load(self, accept: bool = False) -> int:
        """Open, load and close the store. Return the next position."""
        store = self(accept)
        try:
            return store.load().next_position
        finally:
            store.close()

    def begin(self, accept: bool = False) -> int:
        """Open the store as a node does, and close it. Return the first position of this boot."""
        store = self(accept)
        try:
            return begin(store, self.boot).next_position
        finally:
            store.close()

    def refused(self) -> str:
        with pytest.raises(StoreError) as found:
            self.load()
        assert found.value.code == "STORE_ROLLED_BACK"
        return str(found.value)


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opened]:
    it = Opened(tmp_path)
    yield it
    for store in it.stores:
        store.close()


def fill(opened: Opened, count: int = 5) -> None:
    """Make `count` commits of one envelope each, and close the store."""
    store = opened()
    first = store.load().next_position
    for position in range(first, first + count):
        store.commit([Append(position, b"", b"x")])
    store.close()


def test_a_new_store_and_one_that_was_closed_are_opened_without_a_word(opened: Opened) -> None:
    fill(opened)
    fill(opened)
    assert (opened.load(), opened.told) == (11, [])


def test_it_is_written_a_second_later_at_most_and_not_for_every_commit(opened: Opened) -> None:
    path = opened.directory / "witness"
    store = opened()
    store.load()
    assert store.tend() is None, "nothing to tell"
    writes = 0
    for position in range(1, 101):
        store.commit([Append(position, b"", b"")])
        before = path.read_bytes()
        due = store.tend()
        writes += path.read_bytes() != before
        assert due is None or 0 < due <= PERIOD
        opened.now += 0.25
    assert writes == 24, "in 25 seconds"
    opened.now += PERIOD
    assert store.tend() is None, "the rest, though nothing was committed since"
    known = together([unpack(path.read_bytes()[place : place + SLOT]) for place in (0, SLOT)], ME)
    assert known == Statement(ME, 1, 100, 101)


def test_one_damaged_slot_changes_nothing_and_is_mended(opened: Opened) -> None:
    fill(opened)
    path = opened.directory / "witness"
    for place in (0, SLOT):
        whole = path.read_bytes()
        path.write_bytes(whole[:place] + b"\xff" * 16 + whole[place + 16 :])
        fill(opened, 2)
    assert opened.told == []


@pytest.mark.parametrize("damage", [Path.unlink, lambda path: path.write_bytes(b"\xff" * 2 * SLOT)])
def test_without_any_whole_slot_the_node_goes_on_with_a_warning(
    opened: Opened, damage: Callable[[Path], object]
) -> None:
    fill(opened)
    damage(opened.directory / "witness")
    assert opened.load() == 6
    assert len(opened.told) == 1 and "does not describe the store and is rewritten" in opened.told[0]
    (opened.directory / "store.sqlite").unlink()
    assert "holds 0 commits and is at position 1, but had 5 and was at 6" in opened.refused()


def test_the_witness_of_another_store_is_none(opened: Opened) -> None:
    fill(opened)
    store = opened(store=OTHER)
    assert store.load().next_position == 6
    assert "rewritten" in opened.told[0]


def test_a_lost_commit_without_any_envelope_is_noticed_too(opened: Opened) -> None:
    fill(opened)
    old = (opened.directory / "store.sqlite").read_bytes()
    store = opened()
    store.load()
    store.commit([Put("feed", b"joe", b"a subscription")])
    store.close()
    (opened.directory / "store.sqlite").write_bytes(old)
    assert "holds 5 commits and is at position 6, but had 6 and was at 6" in opened.refused()


def test_an_accepted_loss_is_told_and_no_position_is_given_twice(opened: Opened) -> None:
    fill(opened)
    old = (opened.directory / "store.sqlite").read_bytes()
    fill(opened)
    (opened.directory / "store.sqlite").write_bytes(old)
    opened.refused()
    opened.refused()  # a second attempt is refused too
    assert opened.begin(accept=True) == opened.boot * BOOT
    assert "accepted: positions 6..10 are lost" in opened.told[-1]
    store = opened()
    image = begin(store, opened.boot)
    assert [position for position, _, _ in image.envelopes] == [1, 2, 3, 4, 5]
    store.commit([Append(opened.boot * BOOT, b"", b"on")])


def test_trial_A2_a_witness_that_was_told_any_number_stops_nobody_who_accepts_it(opened: Opened) -> None:
    """An earlier release recorded what peers reported about this node's log."""
    fill(opened)
    witness = Witness(opened.directory / "witness", ME, opened.boot)
    for _ in range(2):
        witness.record_progress(5, 2**63 - 1)
    witness.close()
    opened.refused()
    assert opened.load(accept=True) == 6
    assert opened.begin() == opened.boot * BOOT, "neither of its two slots is believed again"


def test_a_boot_number_that_was_there_before_is_refused(opened: Opened) -> None:
    """An old identity.json was restored, so a boot number would repeat.

    Other nodes would mistake the new process for the old one.
    """
    for _ in range(3):
        fill(opened)
    for boot in (1, 2, 3):
        opened.boot = boot - 1
        found = opened.refused()
        assert f"the next boot would be {boot}, but boot 3 came before" in found
        assert 'write "boot": 3 into it' in found
    opened.boot = 3
    assert opened.load() == 16


def test_a_store_of_the_release_before_is_taken_up(opened: Opened) -> None:
    fill(opened)
    (opened.directory / "witness").unlink()
    from_release_1(opened.directory / "store.sqlite")
    assert opened.load() == 6
    assert opened.told == [], "it has not counted commits, so nothing is amiss"
    fill(opened)
    assert opened.load() == 11


def from_release_1(path: Path) -> None:
    """Change a closed store into one that release 1 would have written."""
    surgery(path, "DROP TABLE meta")
    surgery(path, "CREATE TABLE meta (id INTEGER PRIMARY KEY, next_position INTEGER, crc INTEGER)")
    surgery(path, f"INSERT INTO meta VALUES (1, 6, {checksum(6)})")
    surgery(path, "PRAGMA user_version=1")


def test_a_damaged_store_of_the_release_before_is_not_touched(opened: Opened) -> None:
    path = opened.directory / "store.sqlite"
    fill(opened)
    (opened.directory / "witness").unlink()
    from_release_1(path)
    surgery(path, "UPDATE meta SET next_position = 5")
    with pytest.raises(StoreError) as found:
        opened.load()
    assert found.value.code == "DATA_LOSS"
    surgery(path, "UPDATE meta SET next_position = 6")
    assert opened.load() == 6


def test_random_damage_of_the_witness_stops_no_node(opened: Opened) -> None:
    fill(opened)
    path = opened.directory / "witness"
    rng = random.Random(0)
    for _ in range(100):
        whole = bytearray(path.read_bytes())
        for _ in range(rng.randrange(1, 5)):
            whole[rng.randrange(len(whole))] ^= 1 << rng.randrange(8)
        path.write_bytes(whole[: rng.choice((len(whole), rng.randrange(len(whole))))])
        assert opened.load() == 6
