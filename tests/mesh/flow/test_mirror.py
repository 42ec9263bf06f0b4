"""A table and two nodes that follow it, over connections that break."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.errors import RemoteError
from mesh.flow.followed import Followed
from mesh.flow.mirror import Mirror, Update
from mesh.flow.parts import cut

KEYS = "abcde"
NAMED, WHOLE = "follows some keys", "follows all keys"
ME = b"m" * 16
Row = tuple[str, int, int]  # key, number, version of its last change


class Stage:
    """A table with followers, the messages in transit to each, and what it has received."""

    def __init__(self) -> None:
        self.table: dict[str, int] = {}
        self.changed = dict.fromkeys(KEYS, 0)
        self.mirror = Mirror[str, Row, str](self._parts)
        self.wish: dict[str, None] = {}
        self.asked: list[set[str]] = [set()]  # the keys at each version of the request
        self.is_open = dict.fromkeys((NAMED, WHOLE), False)
        for who in (NAMED, WHOLE):
            self.connect(who)

    def _parts(self, keys: Collection[str]) -> Iterator[tuple[Row, ...]]:
        return cut([(key, self.table.get(key, 0), self.changed[key]) for key in keys], 2)

    def connect(self, who: str) -> None:
        self.mirror.lost(who)
        self.transit = {**getattr(self, "transit", {}), who: deque[Update[Row]]()}
        self.rows = {**getattr(self, "rows", {}), who: Followed[str]("test")}
        self.received = {**getattr(self, "received", {}), who: dict[str, int]()}
        if who == WHOLE:
            self.mirror.follow_all(who, [key for key in KEYS if self.table.get(key)])
            self.received[who] = {key: self.changed[key] for key in KEYS if not self.table.get(key)}
        else:
            self.name(self.wish, is_full=True)

    def change(self, key: str, number: int) -> None:
        self.table[key] = number
        self.mirror.changed(key)
        self.changed[key] = self.mirror.version

    def name(self, keys: Collection[str], is_full: bool) -> None:
        """Follow other keys, by a change in two parts."""
        before, self.wish = self.wish, dict.fromkeys(keys)
        version, half = len(self.asked), len(self.wish) // 2
        self.asked.append(set(self.wish))
        gone = [] if is_full else [key for key in before if key not in self.wish]
        add = list(self.wish) if is_full else [key for key in self.wish if key not in before]
        new, removed = self.mirror.follow(NAMED, version, add[:half], gone, is_full, has_more=True)
        more, others = self.mirror.follow(NAMED, version, add[half:], (), is_full)
        if not is_full:
            assert (new + more, removed + others) == (add, gone)
        for key in before if not is_full else ():
            if key not in self.wish:
                self.rows[NAMED].drop_names([key])
                self.received[NAMED].pop(key, None)

    def end_of_event(self) -> None:
        seen = set()
        for who, update in self.mirror.updates():
            self.transit[who].append(update)
            for key, _, _ in update[2]:
                assert (who, key) not in seen, "law 1: once in an event"
                seen.add((who, key))

    def deliver(self, who: str, n: int) -> None:
        while self.transit[who] and n:
            n -= 1
            number, confirms, rows = self.transit[who].popleft()
            self.rows[who].record_number(ME, number, who)
            for key, amount, changed in rows:
                if who == WHOLE or key in self.wish:
                    self.rows[who].record(ME, key, amount)
                    self.received[who][key] = changed
            if who == WHOLE:
                self.mirror.acknowledged(who, number, who)
                known = self.mirror.known_to(who)
                assert all(
                    self.received[who].get(key, 0) == self.changed[key] or self.changed[key] > known
                    for key in KEYS
                ), "law 3: it has all rows of the version"
            elif confirms >= 0:
                asked = set.intersection(*self.asked[confirms:])
                assert asked <= set(self.received[who]), "law 3: it has the rows of the keys of its version"

    def settle(self) -> None:
        self.end_of_event()
        for who, keys in ((NAMED, self.wish), (WHOLE, dict.fromkeys(KEYS))):
            self.deliver(who, 99)
            found = {key: self.rows[who].servers(key).get(ME, 0) for key in keys}
            assert found == {key: self.table.get(key, 0) for key in keys}, who
        assert self.mirror.known_to(WHOLE) == self.mirror.version


keys = st.lists(st.sampled_from(KEYS), unique=True)
whoever = st.sampled_from([NAMED, WHOLE])
steps = st.lists(
    st.one_of(
        st.tuples(st.just("change"), st.sampled_from(KEYS), st.integers(0, 3)),
        st.tuples(st.just("name"), keys, st.booleans()),
        st.tuples(st.just("end_of_event")),
        st.tuples(st.just("deliver"), whoever, st.integers(1, 4)),
        st.tuples(st.just("connect"), whoever),
        st.tuples(st.just("settle")),
    ),
    max_size=30,
)


@given(steps)
def test_laws_1_to_3_each_follower_has_the_rows_in_the_end(steps: list[tuple[str, object]]) -> None:
    stage = Stage()
    for what, *arguments in steps:
        getattr(stage, what)(*arguments)
    stage.settle()


def test_nothing_is_left_of_followers_that_are_lost() -> None:
    mirror = Mirror[str, str, str](lambda keys: cut(sorted(keys), 9))
    mirror.follow("some", 1, "ab")
    mirror.follow_all("all", "abc")
    assert list(mirror.lost("some")) == ["a", "b"] and list(mirror.lost("all")) == []
    mirror.changed("a")
    assert list(mirror.updates()) == [] and len(mirror) == 0
    assert not mirror._of and not mirror._of_all and not mirror._due
    mirror.acknowledged("all", 1, "all")  # too late


def test_what_was_not_sent_cannot_be_acknowledged_and_a_hole_is_an_error() -> None:
    mirror, rows = Mirror[str, str, str](lambda keys: cut(sorted(keys), 9)), Followed[str]("group")
    mirror.follow_all("heron", "ab")
    assert list(mirror.updates()) == [("heron", (1, -1, ("a", "b")))] and mirror.known_to("heron") == -1
    with pytest.raises(RemoteError, match="heron acknowledged update 2, but 1 were sent") as forged:
        mirror.acknowledged("heron", 2, "heron")
    rows.record_number(ME, 1, "heron")
    with pytest.raises(RemoteError, match="heron sent group update 3, but 2 was expected") as hole:
        rows.record_number(ME, 3, "heron")
    assert (forged.value.code, hole.value.code) == ("FORGED_ACK", "OUT_OF_ORDER")
    rows.remove_node(ME)
    rows.record_number(ME, 1, "heron")
