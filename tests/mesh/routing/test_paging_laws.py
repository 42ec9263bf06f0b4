"""Paging does not change what subscribers receive: each run is repeated with all messages in memory."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from mesh.routing.envelope_slice import EnvelopeSlice
from mesh.routing.feed import Feed
from mesh.routing.overflow import Overflow
from mesh.routing.peerfeed import PeerFeed
from mesh.routing.shares import LARGE
from mesh.routing.stored_envelope import StoredEnvelope
from tests.mesh.envelopes import envelope
from tests.mesh.routing.feeds import ME
from tests.mesh.routing.test_paging import Place
from tests.seeds import scenarios

NAMES = ("joe", "ann", "ibis")
STEPS = 150


class Told:
    """One run. Every random choice of its steps comes from the same seed."""

    def __init__(self, seed: int, limit: float, is_prompt: bool = True) -> None:
        self.dice = Random(seed)
        self.now, self.offered = 0.0, 0
        self.sent: list[Any] = []
        self.lives = dict.fromkeys(NAMES, 0)
        self.place = Place(*NAMES, limit=limit, wall=lambda: int(self.now))
        self.is_prompt = is_prompt  # reads complete at once
        for name in NAMES:
            self.new(name)

    def new(self, name: str) -> None:
        self.lives[name] += 1
        kind: dict[str, Any] = {"kind": Feed, "overflow": self.dice.choice(list(Overflow))}
        if name == "ibis":
            kind = {"kind": PeerFeed}
        place = Place(name, wall=lambda: int(self.now), **kind)
        ends = place[name]
        ends.feed._released = self.place.released
        ends.feed._backlog._paging = self.place.paging
        if name == "ibis":
            ends.feed._unsettled._paging = self.place.paging
        self.place.all[name] = ends
        send = ends.feed._send

        def told(feed: Feed, p: EnvelopeSlice) -> None:
            piece = p.stored.envelope.cut(list(p.every))
            self.sent.append(
                (name, self.lives[name], p.number, p.stored.position, p.gap, piece.contents(), piece.keys)
            )
            send(feed, p)

        ends.feed._send = told

    def step(self) -> None:  # noqa: C901
        dice, name = self.dice, self.dice.choice(NAMES)
        ends = self.place[name]
        feed = ends.feed
        match dice.choice(["accept"] * 6 + ["tell"] * 2 + ["take"] * 5 + ["connect"] * 3 + RARE):
            case "accept":
                self.accept()
            case "tell":
                self.offered += 1
                stored = StoredEnvelope(self.envelope(is_persistent=False), master=ME, own=True)
                for each in NAMES:
                    self.place[each].feed.offer(EnvelopeSlice(stored), self.now)
            case "take":
                feed.on_processed(min(feed._flight.sent, feed._flight.used + dice.randint(0, 3)), self.now)
            case "connect":
                feed.connect(self.now)
            case "leave":
                feed.disconnect(self.now)
            case "restart":
                feed.disconnect(self.now)
                feed.restart()
                self.lives[name] += 1
                if name == "ibis" and dice.random() < 0.5:
                    feed.skip(ME, self.place.shelf.next_position - dice.randint(1, 20))
            case "settle":
                if name == "ibis":
                    taken = [p.stored.position for p in ends.sent if p not in feed._flight]
                    feed.settle_master(ME, max([0, *taken]) - dice.randint(0, 2))
            case "shed":
                feed.shed()
            case "close":
                feed.close()
                self.new(name)
            case "wait":
                self.now += dice.choice([0.1, 1, 100])
            case "cut":
                self.place.cut()
        if self.is_prompt or self.dice.random() < 0.2:
            self.place.read()

    def accept(self) -> None:
        e = self.envelope(is_persistent=True)
        owed: dict[str, Any] = {}
        for each in NAMES:
            few = sorted(self.dice.sample(range(e.count), self.dice.randint(1, e.count)))
            owed[each] = None if self.dice.random() < 0.5 or len(few) == e.count else tuple(few)
        self.offered += 1
        takers = {name: indices for name, indices in owed.items() if self.dice.random() < 0.8}
        if takers:
            self.place.accept(e, self.now, **takers)

    def envelope(self, is_persistent: bool) -> Any:
        dice = self.dice
        count, size = dice.choice([(1, 1), (1, 200), (3, 20), (12, LARGE // 4)])
        contents = [b"%d.%d" % (self.offered, i) + bytes(size) for i in range(count)]
        keys = " ".join(dice.choice("ab") for _ in range(count))
        expires = dice.choice([0, 0, int(self.now) + 50])
        return envelope(
            keys, contents, first=self.offered * 100 + 1, persistent=is_persistent, expires=expires
        )

    def heard(self, name: str) -> list[Any]:
        """Return the items that were sent to `name`."""
        return [each for each in self.sent if each[0] == name]

    def state(self) -> Any:
        counted = (
            "matched",
            "delivered",
            "dropped",
            "expired",
            "pending",
            "waiting_bytes",
            "position",
            "gap",
        )
        feeds = {name: self.place[name].feed for name in NAMES}
        return {
            name: ([getattr(feed, each) for each in counted], feed._backlog.gap, len(feed._backlog))
            for name, feed in feeds.items()
        }


RARE = ["leave", "restart", "restart", "settle", "settle", "shed", "close", "wait", "cut", "cut"]


@pytest.mark.parametrize("seed", scenarios(range(30), 6))
def test_whoever_is_owed_something_notices_nothing(seed: int) -> None:
    in_memory, on_disk = Told(seed, 1e18), Told(seed, (0, 4_000, 40_000)[seed % 3])
    was_away = 0
    for _ in range(STEPS):
        in_memory.step()
        on_disk.step()
        assert on_disk.state() == in_memory.state()
        for name in NAMES:
            feed = on_disk.place[name].feed
            assert all(slice_.stored.is_here for slice_ in feed._flight)
            assert on_disk.heard(name) == in_memory.heard(name)
            was_away += feed._backlog.away is not None
        assert on_disk.place.disk.keys() == in_memory.place.disk.keys()
    for name in NAMES:
        on_disk.place[name].feed.close()
    place = on_disk.place
    assert not (place.disk or place.paging._shared or place.memory.used)
    assert was_away or seed % 3


@pytest.mark.parametrize("seed", scenarios(range(30), 6))
def test_a_disk_that_takes_its_time_disturbs_no_order(seed: int) -> None:
    told = Told(seed, (0, 4_000)[seed % 2], is_prompt=False)
    for _ in range(STEPS):
        told.step()
        for name in NAMES:
            feed = told.place[name].feed
            assert all(slice_.stored.is_here for slice_ in feed._flight)
            assert not (feed.connected and feed._backlog and feed._flight.has_room) or told.place.reads
    for name in NAMES:
        heard = told.heard(name)
        assert heard == sorted(heard, key=lambda each: each[1:3])
        assert all(len({content.split(b".")[0] for content in contents}) == 1 for *_, contents, _ in heard)
        told.place[name].feed.close()
    place = told.place
    assert not (place.disk or place.paging._shared or place.memory.used)
