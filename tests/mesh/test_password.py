"""Passwords: their check, and the limits on guesses."""

import pytest

from mesh import password
from mesh.errors import BadConfig
from mesh.password import ALL, KEYS, LONGEST_WAIT, MINUTE, TRIES, Password, check_hash, hashed

STORED = hashed("sesame", b"s" * 16)


@pytest.fixture
def count(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record every password that scrypt is asked to hash, and replace it by a cheap function."""
    asked: list[str] = []

    def cheap(passwd: str, salt: bytes) -> bytes:
        asked.append(passwd)
        return Password(STORED)._hash if passwd == "sesame" else b"x" * 32

    monkeypatch.setattr(password, "_scrypt", cheap)
    return asked


def test_right_is_right_and_wrong_is_wrong() -> None:
    checked = Password(check_hash(STORED))
    assert checked.refusal("joe", "sesame", 0.0) == ""
    assert checked.refusal("joe", "Sesame", 0.0) == "the password is wrong"
    assert checked.refusal("joe", "", 0.0) == "a password is required"
    assert "sesame" not in STORED


def test_a_connection_more_of_who_was_right_costs_nothing(count: list[str]) -> None:
    checked = Password(STORED)
    for _ in range(3):
        assert checked.refusal("joe", "sesame", 0.0) == ""
    assert checked.refusal("eve", "sesame", 0.0) == ""
    assert count == ["sesame", "sesame"]


def test_who_guesses_waits_alone_and_longer_each_time(count: list[str]) -> None:
    checked, now, waits = Password(STORED), 0.0, []
    assert checked.refusal("joe", "sesame", now) == ""
    for _ in range(9):
        for _ in range(TRIES):
            assert checked.refusal("eve", "wrong", now) == "the password is wrong"
        said = checked.refusal("eve", "sesame", now)  # not even with the right one
        assert said.startswith("too many wrong passwords")
        assert checked.refusal(f"somebody new at {now}", "sesame", now) == ""
        assert checked.refusal("joe", "sesame", now) == ""  # a proven user does not wait
        waits.append(float(said.split()[-2]))
        now += waits[-1]
    assert waits == [60, 120, 240, 480, 960, 1920, LONGEST_WAIT, LONGEST_WAIT, LONGEST_WAIT]
    assert len(count) == 1 + 9 * TRIES + 9


def test_a_guesser_with_a_new_key_each_time_is_slowed_down_and_locks_nobody_out(count: list[str]) -> None:
    checked, times = Password(STORED), list[float]()
    assert checked.refusal("joe", "sesame", 0.0) == ""
    for step in range(8 * 3600):  # 8 a second for an hour
        now, before = step / 8, len(count)
        checked.refusal(f"eve {step}", "wrong", now)
        times += [now] * (len(count) - before)
    assert len(times) <= 61 * ALL
    assert checked.refusal("joe", "sesame", 3600.0) == ""
    assert checked.refusal("somebody new", "sesame", 3600 + MINUTE / ALL) == ""  # a moment later
    assert len(checked._guesses) <= KEYS


def test_in_no_minute_are_more_than_ten_of_one_key_compared(count: list[str]) -> None:
    checked, tried = Password(STORED), list[float]()
    for step in range(6000):
        before = len(count)
        now = step * 0.5 if step else 1 - MINUTE  # the first is nearly a minute old
        checked.refusal("eve", "wrong", now)
        tried += [now] * (len(count) - before)
    assert all(later - earlier >= MINUTE for earlier, later in zip(tried, tried[TRIES:], strict=False))


def test_after_a_quiet_hour_the_wait_is_short_again(count: list[str]) -> None:
    checked, now = Password(STORED), 0.0
    for pause in (60.0, 120.0, LONGEST_WAIT + 1):
        for _ in range(TRIES):
            checked.refusal("eve", "wrong", now)
        now += pause + 240
    for _ in range(TRIES):
        checked.refusal("eve", "wrong", now)
    assert checked.refusal("eve", "wrong", now).endswith("in 60 s")


def test_a_few_wrong_ones_over_hours_are_forgiven(count: list[str]) -> None:
    checked = Password(STORED)
    for number in range(5 * TRIES):
        assert checked.refusal("joe", "wrong", number * MINUTE / 5) == "the password is wrong"


def test_having_told_none_is_no_guess(count: list[str]) -> None:
    checked = Password(STORED)
    for _ in range(5 * TRIES):
        checked.refusal("joe", "", 0.0)
    assert checked.refusal("joe", "sesame", 0.0) == ""


@pytest.mark.parametrize(
    "text", ["", "sesame", "scrypt:00:00", "md5:" + STORED[7:], STORED + "0", STORED + ":"]
)
def test_what_is_no_hash_is_refused_with_the_command_that_makes_one(text: str) -> None:
    with pytest.raises(BadConfig, match="mesh passwd"):
        check_hash(text)
