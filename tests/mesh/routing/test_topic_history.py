"""The history of a topic: its latest messages, within the limits of its rule and of the node."""

from collections.abc import Mapping, Sequence

import pytest
from msgspec.structs import replace

from mesh.operations import Delete, Op, Put
from mesh.routing.retained_value import RetainedValue, indices_of_values, values_at
from mesh.routing.topic_history import TABLE, TopicHistories, row_of
from mesh.wire.envelope import PERSISTENT, Envelope
from tests.mesh.envelopes import envelope


class Stage:
    """Histories with a limit for the topics a and b, and the rows that they write."""

    def __init__(self, most: int = 3, room: int = 100_000) -> None:
        self.limits = {"a": most, "b": most}
        self.room = room
        self.rows: dict[bytes, bytes] = {}
        self.histories = self.made()
        self.number = 0

    def made(self) -> TopicHistories:
        return TopicHistories(self._limits_of, lambda: self.room, lambda table, key, op: self.write([op]))

    def _limits_of(self, e: Envelope) -> Mapping[str, int]:
        return {key: most for key in e.keys if (most := self.limits.get(key, 1)) > 1}

    def write(self, ops: Sequence[Op]) -> None:
        for op in ops:
            assert isinstance(op, Put | Delete) and op.table == TABLE
            if isinstance(op, Put):
                self.rows[op.key] = op.value
            else:
                self.rows.pop(op.key, None)

    def publish(
        self, keys: str, *contents: bytes, flags: int = 0, expires: int = 0, sent: int = 0
    ) -> RetainedValue:
        """Accept an envelope, and return its last message as a value."""
        e = envelope(keys, list(contents), first=self.number + 1, flags=flags)
        self.number = e.last
        e = replace(e, sent=sent or self.number, expires=expires)
        kept = self.histories.select_kept(e)
        if flags & PERSISTENT:
            self.write(self.histories.puts(kept))
        self.histories.add_all(kept)
        return values_at(e, [e.count - 1])[0]

    def contents(self, last: RetainedValue, most: int, wall: int = 0) -> list[bytes]:
        return [value.data for value in self.histories.latest(last, most, wall)]


def test_the_last_messages_of_a_topic_come_oldest_first_and_others_have_only_their_value() -> None:
    stage = Stage()
    for n in range(5):
        last = stage.publish("a", b"%d" % n)
        other = stage.publish("other", b"x%d" % n)
    assert [stage.contents(last, most) for most in (1, 2, 3, 9)] == [
        [b"4"], [b"3", b"4"], [b"2", b"3", b"4"], [b"2", b"3", b"4"]
    ]  # fmt: skip
    assert stage.contents(other, 9) == [b"x4"]
    assert len(stage.histories) == 3


def test_a_late_message_takes_its_place_by_its_timestamp_also_after_a_restart() -> None:
    stage = Stage()
    last = [stage.publish("a", b"%d" % n, flags=PERSISTENT, sent=sent) for n, sent in enumerate((3, 9, 6))][1]
    assert stage.contents(last, 9) == [b"0", b"2", b"1"]
    stage.publish("a", b"too old", flags=PERSISTENT, sent=1)
    assert stage.contents(last, 9) == [b"0", b"2", b"1"]
    stage.histories = stage.made()
    stage.histories.restore(stage.rows, lambda key, domain: True)
    assert stage.contents(last, 9) == [b"0", b"2", b"1"]


def test_of_an_envelope_with_many_messages_each_topic_keeps_its_last_ones() -> None:
    stage = Stage(2)
    last = stage.publish("a b a a other b", b"1", b"2", b"3", b"4", b"5", b"6")
    assert stage.contents(last, 9) == [b"2", b"6"]
    assert len(stage.histories) == 4
    e = envelope("a b a a other b", [b"1", b"2", b"3", b"4", b"5", b"6"])
    assert indices_of_values(e, {"a": 2, "b": 1}) == [2, 3, 5]
    assert [(v.key, v.data, v.number) for v in values_at(e, [2, 5])] == [("a", b"3", 3), ("b", b"6", 6)]


def test_an_expired_message_is_left_out_and_one_that_was_published_elsewhere_comes_last() -> None:
    stage = Stage()
    stage.publish("a", b"1", expires=50)
    stage.publish("a", b"2")
    newer = replace(stage.publish("a", b"3"), data=b"newer", number=99)
    assert stage.contents(newer, 9, wall=49) == [b"1", b"2", b"3", b"newer"]
    assert stage.contents(newer, 9, wall=50) == [b"2", b"3", b"newer"]
    assert stage.contents(newer, 2, wall=50) == [b"3", b"newer"]


def test_without_room_the_topics_published_least_recently_lose_messages_first() -> None:
    stage = Stage(3)
    a = stage.publish("a a a", b"1" * 100, b"2" * 100, b"3" * 100)
    b = stage.publish("b b b", b"4" * 100, b"5" * 100, b"6" * 100)
    assert stage.histories.bytes == sum(
        each.size for last in (a, b) for each in stage.histories.latest(last, 9, 0)
    )
    stage.room = stage.histories.bytes - 1
    stage.histories.trim()
    assert [len(stage.contents(a, 9)), len(stage.contents(b, 9))] == [2, 3]
    stage.room = 0
    stage.publish("b", b"7" * 100)
    assert (len(stage.histories), stage.histories.bytes) == (0, 0)
    assert stage.histories.figures == {"history_messages": 0, "history_evicted": 6}


def test_rows_follow_what_is_kept_and_only_of_persistent_messages() -> None:
    stage = Stage(2)
    stage.publish("a", b"transient")
    last = stage.publish("a a a", b"1", b"2", b"3", flags=PERSISTENT)
    assert sorted(stage.rows) == sorted(row_of(value) for value in stage.histories.latest(last, 2, 0))
    anew = stage.made()
    anew.restore(stage.rows, lambda key, domain: key == "a")
    assert [value.data for value in anew.latest(last, 9, 0)] == [b"2", b"3"]
    stage.write(stage.histories.deletes("a", ""))
    assert stage.rows == {}
    stage.histories.remove_topic("a", "")
    assert not len(stage.histories) and stage.histories.bytes == 0


@pytest.mark.parametrize("is_ruled", [True, False])
def test_a_topic_that_ended_or_has_no_rule_any_more_is_not_restored_and_its_rows_end(is_ruled: bool) -> None:
    stage = Stage(2)
    stage.publish("a a", b"1", b"2", flags=PERSISTENT)
    if not is_ruled:
        stage.limits = {}
    anew = stage.made()
    anew.restore(dict(stage.rows), lambda key, domain: not is_ruled)
    assert not len(anew) and stage.rows == {}


def test_other_rules_apply_at_once() -> None:
    stage = Stage(3)
    a = stage.publish("a a a b b b", *[b"x"] * 6, flags=PERSISTENT)
    stage.limits = {"b": 2}
    stage.histories.review_rules()
    assert len(stage.histories) == len(stage.rows) == 2 and stage.contents(a, 9) == [b"x", b"x"]
