"""Retained values, in memory and on disk, are the same whether or not they are read in between."""

from collections.abc import Iterable

from hypothesis import example, given, settings
from hypothesis import strategies as st

from mesh.operations import Delete, Op, Put
from mesh.reserved import DEAD
from mesh.routing.log import Log
from mesh.routing.retained_value import OVERHEAD, RetainedValue
from mesh.routing.store_handle import StoreHandle
from mesh.wire.envelope import ERASED, Envelope
from tests.mesh.envelopes import envelope

KEYS = ["a", "b", "c", "d" * 100, f"{DEAD}1", f"{DEAD}2"]
SCENARIO = st.lists(
    st.tuples(
        st.sampled_from([b"s" * 16, b"t" * 16]),
        st.lists(st.sampled_from(KEYS), min_size=1, max_size=3, unique=True),
        st.sampled_from(["transient", "transient", "persistent", "persistent", "erased"]),
        st.integers(0, 200),  # bytes of each message
        st.booleans(),  # whether pending changes are written
    ),
    max_size=25,
)


class Master:
    """A log and its disk. With `is_asked`, all values are read after each envelope."""

    def __init__(self, room: int, is_asked: bool) -> None:
        self._log, self._is_asked = Log(room, StoreHandle()), is_asked
        self.disk: dict[bytes, bytes] = {}

    def take(self, e: Envelope) -> None:
        lane = self._log.lane(e.stream, e.domain, 0.0)
        lane.origin.accept_numbers(e.first, e.last, e.low)
        accepted, ops = self._log.accept_envelope(lane, [(e, [])], 0, b"m" * 16)
        self._write(ops)
        if ops:
            lane.waiting.popleft()
        self._log.passes(accepted)
        if self._is_asked:
            self.values()

    def write(self) -> None:
        ops = self._log.shelf.take_later()
        self._write(ops)
        self._log.shelf.written(ops)

    def _write(self, ops: Iterable[Op]) -> None:
        for op in ops:
            if isinstance(op, Put) and op.table == "retained":
                self.disk[op.key] = op.value
            elif isinstance(op, Delete) and op.table == "retained":
                self.disk.pop(op.key, None)

    def values(self) -> dict[bytes, RetainedValue]:
        found = [self._log.retained.get(key, "") for key in KEYS]
        return {last.store_key: last for last in found if last}


def told(scenario: list[tuple[bytes, list[str], str, int, bool]]) -> Iterable[tuple[Envelope, bool]]:
    numbers: dict[bytes, int] = {}
    for sent, (stream, keys, kind, size, is_written) in enumerate(scenario, start=1):
        words = keys[:1] if kind == "erased" else keys
        first = numbers.get(stream, 0) + 1
        numbers[stream] = first + len(words) - 1
        contents = [b"" if kind == "erased" else bytes([sent]) * size for _ in words]
        yield (
            envelope(
                " ".join(words),
                contents,
                first=first,
                low=first,
                stream=stream,
                sent=sent,
                persistent=kind == "persistent",
                flags=ERASED if kind == "erased" else 0,
            ),
            is_written,
        )


@settings(max_examples=3 * settings().max_examples)
@example(  # between the second value of "a" and the third one, "b" has no room beside them
    [
        (b"s" * 16, [*keys], "transient", size, False)
        for keys, size in [("a", 0), ("c", 199), ("a", 200), ("ba", 99)]
    ],
    3.3,
)
@given(SCENARIO, st.sampled_from([2, 3.3, 6, 1000]))
def test_values_are_the_same_and_persistent_ones_are_on_disk(
    scenario: list[tuple[bytes, list[str], str, int, bool]], topics: float
) -> None:
    masters = [Master(int(topics * (OVERHEAD + 100)), is_asked) for is_asked in (True, False)]
    for e, is_written in told(scenario):
        for master in masters:
            master.take(e)
            if is_written:
                master.write()
    asked, unasked = masters
    assert {row: last.stamp for row, last in unasked.values().items()} == {
        row: last.stamp for row, last in asked.values().items()
    }
    for master in masters:
        master.write()
        there = master.values()
        assert master.disk.keys() <= there.keys(), "what is forgotten leaves the disk"
        for row, last in there.items():
            if last.envelope.persistent:
                assert RetainedValue.unpack(master.disk[row]).stamp == last.stamp
