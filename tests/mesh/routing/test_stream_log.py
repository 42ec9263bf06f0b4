"""The timestamps of a stream, whose messages may reach their master in any order."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from mesh.routing.retained import Retained
from mesh.routing.store_handle import StoreHandle
from mesh.routing.stream_log import StreamLog
from mesh.streams.origin import MAX_RANGES
from mesh.wire.envelope import Envelope
from tests.mesh.envelopes import envelope

STREAMS = (b"s" * 16, b"t" * 16, b"u" * 16)
ARRIVALS = st.permutations([(stream, number) for stream in STREAMS for number in range(1, 6)])


def stamps_of(lane: StreamLog, *numbers: int, low: int = 1) -> list[int]:
    """Return the timestamps of messages that arrive at 100, 101 and so on."""
    arrivals = enumerate(numbers, 100)
    return [lane.stamp_numbers(envelope(first=number, low=low), now) for now, number in arrivals]


def value(envelopes: list[Envelope]) -> tuple[bytes, int] | None:
    retained = Retained(1_000_000)
    for each in envelopes:
        retained.retain_last(each)
    found = retained.get("a", "")
    return (found.envelope.stream, found.number) if found is not None else None


def test_late_messages_get_the_timestamp_of_the_next_message_of_their_publisher() -> None:
    assert stamps_of(StreamLog(StoreHandle()), 1, 5, 9, 6, 3, 2, 4, 10, 8) == [
        100, 101, 102, 102, 101, 101, 101, 107, 102,
    ]  # fmt: skip


def test_holes_are_forgotten_once_their_publisher_has_all_answers_and_beyond_the_most() -> None:
    lane = StreamLog(StoreHandle())
    stamps_of(lane, *range(2, 5 * MAX_RANGES, 2))
    assert len(lane.begun) == MAX_RANGES + 1
    stamps_of(lane, 20 * MAX_RANGES, low=20 * MAX_RANGES)
    assert len(lane.begun) == 1


@given(ARRIVALS, st.randoms(use_true_random=False))
def test_all_nodes_retain_the_same_value_in_whatever_order_they_get_the_messages(
    arrivals: list[tuple[bytes, int]], dice: Random
) -> None:
    lanes = {stream: StreamLog(StoreHandle()) for stream in STREAMS}
    accepted = [
        replace(e, sent=lanes[stream].stamp_numbers(e, now))
        for now, (stream, number) in enumerate(arrivals, 1)
        for e in [envelope(first=number, stream=stream)]
    ]
    elsewhere = dice.sample(accepted, len(accepted))
    assert value(elsewhere) == value(accepted)
