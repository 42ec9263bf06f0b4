"""Encoding of gossip messages: they survive a round trip, are bounded, and malformed ones are refused."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.discovery import state as states
from mesh.discovery.gossip import TOMBS
from mesh.discovery.lines import LONGEST, MOST, StateLine, StateMessage, decode, encode
from mesh.discovery.relay import LINES, LONG_DIGEST

UUID = bytes(range(16))
LARGEST = 2**63 - 1

numbers = st.integers(0, LARGEST)
uuids = st.binary(min_size=16, max_size=16)
lines = st.builds(
    StateLine, uuids, numbers, numbers, st.binary(max_size=64), st.binary(max_size=64), st.booleans()
)
cursors = st.binary(max_size=16)
messages = st.builds(
    StateMessage,
    uuids,
    numbers,
    numbers,
    st.lists(lines, max_size=4).map(tuple),
    st.lists(st.tuples(uuids, numbers, numbers), max_size=4).map(tuple),
    st.lists(st.tuples(uuids, numbers), max_size=4).map(tuple),
    st.none() | st.tuples(cursors, cursors),
)


@given(messages)
def test_any_message_within_the_bounds_comes_back_as_it_was(message: StateMessage) -> None:
    assert decode(encode(message)) == message


@given(st.binary(max_size=300))
def test_any_other_bytes_are_refused_with_a_value_error(data: bytes) -> None:
    with pytest.raises(ValueError, match="not gossip"):
        decode(data)


@given(messages, st.data())
def test_damaged_bytes_are_a_message_or_a_value_error(message: StateMessage, data: st.DataObject) -> None:
    whole = bytearray(encode(message))
    place = data.draw(st.integers(0, len(whole) - 1))
    whole[place] ^= data.draw(st.integers(1, 255))
    try:
        assert isinstance(decode(bytes(whole)), StateMessage)
    except ValueError as error:
        assert "not gossip" in str(error)


LINE = StateLine(UUID, 1, 1, b"state", b"signature")


@pytest.mark.parametrize(
    "changes",
    [{"sender": b"short"}, {"boot": -1}, {"number": 2**63}, {"lines": (LINE,) * (MOST + 1)},
     {"digest": ((UUID, 1, 1),) * (MOST + 1)}, {"tombs": ((UUID, 1),) * (MOST + 1)},
     {"digest": ((UUID, 1),)}, {"tombs": ((b"", 1),)}, {"span": (b"", bytes(17))}, {"span": (b"",)},
     {"lines": (StateLine(UUID, 1, 1, bytes(states.LONGEST + 1)),)},
     {"lines": (StateLine(UUID, 1, 1, b"", bytes(65)),)}, {"lines": (StateLine(UUID, 1, -1, b""),)}],
)  # fmt: skip
def test_what_is_out_of_bounds_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="not gossip"):
        decode(encode(msgspec.structs.replace(StateMessage(UUID, 1, 1), **changes)))


def test_a_message_that_is_too_long_is_refused_unread() -> None:
    with pytest.raises(ValueError, match=f"at most {LONGEST}"):
        decode(bytes(LONGEST + 1))


def test_the_fullest_message_that_a_node_can_make_is_short_enough_for_others() -> None:
    line = StateLine(UUID, LARGEST, LARGEST, bytes(states.LONGEST), bytes(64), True)
    full = StateMessage(
        UUID,
        LARGEST,
        LARGEST,
        (line,) * (LINES + 1),
        ((UUID, LARGEST, LARGEST),) * LONG_DIGEST,
        ((UUID, LARGEST),) * TOMBS,
        (UUID, UUID),
    )
    assert decode(encode(full)) == full
