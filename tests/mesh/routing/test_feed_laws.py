"""Laws of a feed under random operations: no message is lost or out of order, and limits hold."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import inf
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from mesh.errors import RemoteError
from mesh.routing.envelope_slice import EnvelopeSlice
from mesh.routing.feed import Feed
from mesh.routing.inbox import Inbox
from mesh.routing.memory import OWN, Memory
from mesh.routing.overflow import Overflow
from mesh.routing.paging import Found, Paging
from mesh.routing.peerfeed import PeerFeed
from mesh.wire.envelope import Envelope
from tests.mesh.routing.feeds import CREDIT, HERON, ME, Ends, stored

MASTERS = st.sampled_from([ME, HERON])


class FeedMachine(RuleBasedStateMachine):
    """Random operations on a feed. The model is the list of offered slices; the invariants are its laws."""

    def __init__(self) -> None:
        super().__init__()
        self.ends = Ends()
        self.is_peer = self.is_inbox = False
        self.buried = 0
        self.now = 0.0
        self.offered: list[EnvelopeSlice] = []
        self.disk: dict[int, Envelope] = {}  # envelopes on this node's disk
        self.reads: list[tuple[list[int], Callable[[Found], None]]] = []  # reads in progress
        self.memory = Memory(0)
        self.positions = {ME: 0, HERON: 0}  # newest position in each master's log
        self.taken = self.gap_told = self.messages = 0
        self.life = 0  # slices sent before the last restart

    @initialize(
        kind=st.sampled_from(["client", "peer", "inbox"]),
        policy=st.sampled_from(Overflow),
        messages=st.sampled_from([0, 2, 5]),
        memory=st.sampled_from([0, 3_000, inf]),
    )
    def begin(self, kind: str, policy: Overflow, messages: int, memory: float) -> None:
        self.is_peer, self.is_inbox = kind == "peer", kind == "inbox"
        credit = replace(CREDIT, messages=messages)
        self.memory.limit = memory
        paging = Paging(self.memory, ME, lambda places, then: self.reads.append(([*places], then)))
        kinds: dict[str, dict[str, Any]] = {
            "client": {"kind": Feed, "overflow": policy, "paging": paging},
            "peer": {"kind": PeerFeed, "paging": paging},
            "inbox": {
                "kind": Inbox,
                "bury": self.buried_late,
                "paging": paging,
                "void_at": lambda e: e.expires,
            },
        }
        self.ends = Ends(credit, **kinds[kind], wall=lambda: int(self.now))

    def buried_late(self, slice_: EnvelopeSlice, void: Sequence[int]) -> None:
        assert self.is_inbox and set(void).isdisjoint(slice_.every)
        self.buried += len(void)

    @property
    def sent(self) -> list[EnvelopeSlice]:
        return self.ends.sent[self.life :]

    @rule(
        master=MASTERS,
        is_persistent=st.booleans(),
        count=st.integers(1, 3),
        size=st.integers(0, 300),
        part=st.booleans(),
        lives=st.sampled_from([0, 1, 50]),
    )
    def offer(
        self, master: bytes, is_persistent: bool, count: int, size: int, part: bool, lives: int
    ) -> None:
        self.positions[master] += is_persistent
        position = self.positions[master] * is_persistent
        expires = lives and int(self.now) + lives
        slice_ = EnvelopeSlice(stored(position, count, size, master, expires), (0,) if part else None)
        if master == ME and position:
            self.disk[position] = slice_.stored.envelope
        self.offered.append(slice_)
        self.messages += slice_.messages
        self.ends.feed.offer(slice_, self.now)

    @rule(more=st.integers(0, 3))
    def take(self, more: int) -> None:
        self.taken = min(len(self.sent), self.taken + more)
        self.ends.feed.on_processed(self.taken, self.now)

    @rule(turns=st.integers(1, 3))
    def read(self, turns: int) -> None:
        """Complete the first `turns` reads from disk."""
        for places, then in self.reads[:turns]:
            self.reads.remove((places, then))
            left = {p.position for p in self.ends.released if p.master == ME}
            then({place: self.disk[place] for place in places if place not in left})

    @rule()
    def take_too_much(self) -> None:
        with pytest.raises(RemoteError):
            self.ends.feed.on_processed(len(self.sent) + 1, self.now)

    @rule(master=MASTERS, back=st.integers(0, 3))
    def settle(self, master: bytes, back: int) -> None:
        if self.is_peer:
            taken = [p.stored.position for p in self.sent[: self.taken] if p.stored.master == master]
            self.ends.feed.settle_master(master, max([0, *taken]) - back)

    @rule()
    def connect(self) -> None:
        self.ends.feed.connect(self.now)

    @rule()
    def leave(self) -> None:
        self.ends.feed.disconnect(self.now)

    @rule()
    def restart(self) -> None:
        self.ends.feed.disconnect(self.now)
        self.ends.feed.restart()
        self.life, self.taken = len(self.ends.sent), 0

    @rule(master=MASTERS, position=st.integers(0, 20))
    def restart_knowing(self, master: bytes, position: int) -> None:
        """Restart as a peer that survived this node's restart and has the log up to a position."""
        self.restart()
        if self.is_peer:
            self.ends.feed.skip(master, position)

    @rule(seconds=st.sampled_from([0.1, 1.0, 100.0]))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @rule()
    def cut_off(self) -> None:
        self.ends.feed.shed()
        assert self.is_inbox or all(p.is_persistent for p in self.offered if p.waiting)

    @rule()
    def bury(self) -> None:
        if not self.is_inbox:
            return
        void = self.ends.feed.take_void(lambda e: 0 < e.expires <= self.now)
        self.buried += sum(slice_.messages for slice_ in void)

    @rule()
    def tell_gap(self) -> None:
        self.gap_told += sum(slice_.take_gap() for slice_ in self.sent)

    @invariant()
    def every_message_is_delivered_dropped_or_pending(self) -> None:
        feed = self.ends.feed
        assert feed.matched == self.messages
        accounted = feed.delivered + feed.dropped + feed.expired + feed.buried + feed.pending
        assert feed.matched == accounted
        slices = {id(p): p for p in (*self.offered, *self.ends.sent, *feed._backlog)}
        away = feed._backlog.away
        untold = feed.gap + sum(p.gap for p in slices.values()) + (away.gap if away is not None else 0)
        assert feed.dropped == self.gap_told + untold or feed.closed

    @invariant()
    def of_an_inbox_nothing_goes_unseen(self) -> None:
        feed = self.ends.feed
        assert feed.buried == self.buried
        assert not self.is_inbox or feed.closed or feed.dropped == feed.expired == 0

    @invariant()
    def what_leaves_is_in_memory_and_what_it_was(self) -> None:
        for p in self.sent[self.taken :]:  # received messages may be on disk only
            assert p.stored.is_here
            if p.stored.own and p.stored.position:
                assert p.stored.envelope == self.disk[p.stored.position]
                offered = self.offered[p.number - 1]
                assert p.messages and (p.indices == offered.indices or p.stored.envelope.expires)

    @invariant()
    def whoever_waits_for_the_disk_is_read_for(self) -> None:
        feed = self.ends.feed
        if feed.connected and feed._backlog and feed._flight.has_room:
            assert self.reads

    @invariant()
    def what_waits_in_memory_is_counted(self) -> None:
        feed = self.ends.feed
        taken = [p for row in feed._unsettled._rows.values() for p in row] if self.is_peer else []
        kept = [p for p in taken if p.number not in feed._unsettled._resting]
        waiting = [p.stored for p in (*feed._backlog, *kept) if p.stored.own and p.stored.position]
        assert self.memory.used == sum(p.size + OWN for p in waiting)

    @invariant()
    def the_order_of_each_master_is_kept(self) -> None:
        for master in (ME, HERON):
            places = [p.number for p in self.sent if p.stored.master == master]
            assert places == sorted(set(places))

    @invariant()
    def the_credit_is_never_overdrawn_by_more_than_one(self) -> None:
        flight = self.sent[self.taken :]
        assert len(flight) <= CREDIT.items
        assert sum(slice_.size for slice_ in flight[:-1]) < CREDIT.bytes

    @invariant()
    def what_is_kept_is_bounded(self) -> None:
        released = {(p.master, p.position) for p in self.ends.released}
        kept = [
            p
            for p in self.offered
            if (p.waiting if not p.is_persistent else (p.stored.master, p.stored.position) not in released)
        ]
        largest = max([0, *(slice_.size for slice_ in self.offered)])
        # Credit, backlog and the unsettled messages of a peer may each exceed their limit by one slice. A
        # restart
        # puts all of them into the backlog, and a peer may then receive its credit and backlog again.
        bound = 2 * (CREDIT.bytes + 2 * CREDIT.backlog + 3 * largest)
        assert self.is_inbox or sum(slice_.size for slice_ in kept) <= bound

    @invariant()
    def nothing_persistent_is_let_go_twice(self) -> None:
        assert len(self.ends.released) == len({(p.master, p.position) for p in self.ends.released})

    def teardown(self) -> None:
        self.ends.feed.close()
        released = {(p.master, p.position) for p in self.ends.released}
        owed = [p.stored for p in self.offered if p.stored.position]
        assert released == {(p.master, p.position) for p in owed}
        self.nothing_persistent_is_let_go_twice()
        assert not any(slice_.waiting for slice_ in self.offered)
        assert self.memory.used == 0


TestFeeds = FeedMachine.TestCase
TestFeeds.settings = settings(stateful_step_count=40)
