"""Envelopes that are packed behind one command."""

import pytest

from mesh.errors import RemoteError
from mesh.features.transactions.wire import Commit
from mesh.wire.envelope import Envelope
from mesh.wire.frames import checked, read, write
from mesh.wire.limits import CHUNK, FRAMES, MIB, TRANSACTION_ENVELOPES
from mesh.wire.packed import PackedEnvelopes


def sized(size: int, number: int = 1) -> Envelope:
    return Envelope(b"s" * 16, "", number, number, ("k",), 1, size, b"x" * size)


def commit(*envelopes: Envelope) -> list[bytes]:
    packed = PackedEnvelopes(envelopes)
    return write(Commit(1, 1, 1, sizes=packed.sizes), [packed])


def refusal(frames: list[bytes]) -> str:
    with pytest.raises(RemoteError) as error:
        read(frames, MIB)
    return error.value.code


def test_many_envelopes_travel_in_few_frames_and_come_back() -> None:
    many = [sized(n % 7, n + 1) for n in range(TRANSACTION_ENVELOPES)]
    assert len(commit(*many)) == 3
    assert read(commit(*many), MIB)[1] == many
    large = [sized(MIB, n) for n in range(1, 9)]
    frames = commit(*large)
    assert len(frames) <= FRAMES and max(map(len, frames)) <= CHUNK
    assert read(frames, MIB)[1] == large
    assert read(write(Commit(1, 1, 1)), MIB)[1] == []


def test_a_program_that_embeds_a_node_passes_them_as_they_are() -> None:
    packed = PackedEnvelopes([sized(5), sized(0, 2)])
    command = Commit(1, 1, 1, sizes=packed.sizes)
    assert checked(command, [packed]) == (command, list(packed.envelopes))  # type: ignore[list-item]


def test_cut_frames_and_wrong_sizes_are_malformed() -> None:
    command, headers, body = commit(sized(5), sized(6, 2))
    assert refusal([command, headers]) == "MALFORMED"
    assert refusal([command, headers, body[:-1]]) == "MALFORMED"
    assert refusal([command, headers, body, b"x"]) == "MALFORMED"
    assert refusal([command, body, headers]) == "MALFORMED"
    assert refusal([command]) == "MALFORMED"
    assert refusal([*write(Commit(1, 1, 1, sizes=(5,))), headers, body]) == "MALFORMED"
    assert refusal([*write(Commit(1, 1, 1, sizes=(4, 7))), headers, body]) == "MALFORMED"


def test_a_content_or_a_transaction_above_its_limit_is_too_large() -> None:
    assert refusal(commit(sized(MIB + 1))) == "TOO_LARGE"
    assert refusal(commit(*(sized(MIB, n) for n in range(1, 65)), sized(1, 65))) == "TOO_LARGE"
    many = [sized(0, n) for n in range(1, TRANSACTION_ENVELOPES + 2)]
    assert refusal(commit(*many)) == "MALFORMED"
