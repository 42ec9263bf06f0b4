"""The fuzzers find planted errors and no others. Each runs with a few fixed inputs."""

import random
from pathlib import Path

import pytest

from mesh.security import token
from mesh.snapshots.segment import Segment
from tools import fuzz_targets
from tools.fuzz_inputs import made, run
from tools.fuzz_targets import TARGETS

SEED, INPUTS = 17, 600


def tried(what: str) -> tuple[int, int]:
    with made(what) as target:
        return run(target, random.Random(SEED), lambda count: count < INPUTS)


@pytest.mark.parametrize("what", TARGETS)
def test_trial_D_nothing_that_a_reader_is_given_is_worse_than_refused(what: str) -> None:
    inputs, admitted = tried(what)
    assert inputs == INPUTS
    assert 0 < admitted < INPUTS, "it reaches what is behind the first check, and more is refused"


def test_an_error_that_is_no_refusal_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def careless(letters: str) -> token.Token:
        raise UnicodeDecodeError("utf-8", b"\xff", 0, 1, "as it was once")

    monkeypatch.setattr(token, "_decoded", careless)
    with pytest.raises(UnicodeDecodeError):
        tried("tokens")


def test_a_line_that_is_not_whole_and_stays_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def careless(place: Path, left: Segment) -> Segment:
        path = place / left.hour / left.name.unfinished
        size = path.stat().st_size
        path.rename(place / left.path)
        return Segment(left.name, left.hour, size)

    monkeypatch.setattr(fuzz_targets, "recover", careless)
    with pytest.raises(AssertionError):
        tried("segments")
