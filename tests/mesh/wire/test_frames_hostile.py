"""Hostile frames: each is read as a message or raises RemoteError."""

import random
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.wire import commands as c
from mesh.wire.frames import read
from tests.each import each
from tools.models.hostile import GOOD, try_to_read

every = each("name", GOOD)


@every
def test_the_good_ones_are_good(name: str) -> None:
    assert try_to_read(GOOD[name])


@every
def test_a_frame_cut_short_anywhere_is_refused(name: str) -> None:
    good = GOOD[name]
    for place, frame in enumerate(good):
        for end in range(len(frame)):
            assert not try_to_read([*good[:place], frame[:end], *good[place + 1 :]])


@every
def test_a_byte_too_many_anywhere_is_refused(name: str) -> None:
    good = GOOD[name]
    for place, frame in enumerate(good):
        assert not try_to_read([*good[:place], frame + b"\x00", *good[place + 1 :]])


@every
@pytest.mark.parametrize("step", [29, pytest.param(1, marks=pytest.mark.slow)])
def test_any_flipped_bit_is_refused_or_means_something_else(name: str, step: int) -> None:
    good = GOOD[name]
    for place, frame in enumerate(good):
        for bit in range(place % step, 8 * len(frame), step):
            flipped = bytearray(frame)
            flipped[bit // 8] ^= 1 << bit % 8
            try_to_read([*good[:place], bytes(flipped), *good[place + 1 :]])


@every
def test_lost_doubled_and_swapped_frames_are_refused_or_mean_the_same(name: str) -> None:
    good = GOOD[name]
    for place, frame in enumerate(good):
        assert not try_to_read([*good[:place], *good[place + 1 :]])
        assert not try_to_read([*good[:place], frame, *good[place:]])
        for other in range(place):
            swapped = list(good)
            swapped[place], swapped[other] = good[other], good[place]
            try_to_read(swapped)


@every
@each("tag", [28, 100, 127])
def test_a_command_of_a_later_release_is_unknown_whatever_else_it_says(name: str, tag: int) -> None:
    command, *others = GOOD[name]
    at = 3 if command[:1] == b"\xdc" else 1
    with pytest.raises(c.UnknownCommand) as unknown:
        read([command[:at] + bytes((tag,)) + command[at + 1 :], *others])
    assert (unknown.value.tag, unknown.value.code) == (tag, "MALFORMED")


@given(st.lists(st.binary(max_size=60), max_size=6))
def test_random_frames_are_refused_or_mean_something(frames: list[bytes]) -> None:
    try_to_read(frames)


@given(st.sampled_from(sorted(GOOD)), st.randoms(use_true_random=False))
def test_a_good_message_with_wild_bytes_takes_no_wild_memory(name: str, chance: random.Random) -> None:
    frames = [bytearray(frame) for frame in GOOD[name]]
    for _ in range(chance.randint(1, 4)):
        frame = chance.choice(frames)
        at = chance.randrange(len(frame) + 1)
        frame[at : at + chance.randint(0, 4)] = chance.randbytes(chance.randint(0, 6))
    tracemalloc.start()
    try:
        try_to_read(list(map(bytes, frames)))
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()
