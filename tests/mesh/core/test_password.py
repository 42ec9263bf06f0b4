"""Is a password right or wrong, and how long may somebody guess?"""

import pytest

from mesh.core import password
from mesh.core.password import LONGEST_WAIT, MINUTE, TRIES, Password, check_hash, hashed
from mesh.errors import BadConfig

STORED = hashed("sesame", b"s" * 16)


@pytest.fixture
def count(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every password that scrypt was asked for, which here costs nothing."""
    asked: list[str] = []

    def cheap(passwd: str, salt: bytes) -> bytes:
        asked.append(passwd)
        return Password(STORED)._hash if passwd == "sesame" else b"x" * 32

    monkeypatch.setattr(password, "_scrypt", cheap)
    return asked


def test_right_is_right_and_wrong_is_wrong() -> None:
    checked = Password(check_hash(STORED))
    assert checked.refuse("joe", "sesame", 0.0) == ""
    assert checked.refuse("joe", "Sesame", 0.0) == "wrong password"
    assert checked.refuse("joe", "", 0.0) == "it wants a password"
    assert "sesame" not in STORED


def test_a_connection_more_of_who_was_right_costs_nothing(count: list[str]) -> None:
    checked = Password(STORED)
    for _ in range(3):
        assert checked.refuse("joe", "sesame", 0.0) == ""
    assert checked.refuse("eve", "sesame", 0.0) == ""
    assert count == ["sesame", "sesame"]


def test_who_guesses_waits_longer_each_time(count: list[str]) -> None:
    checked, now, waits = Password(STORED), 0.0, []
    for _ in range(9):
        for _ in range(TRIES):
            assert checked.refuse("eve", "wrong", now) == "wrong password"
        said = checked.refuse("eve", "sesame", now)  # not even the right one
        assert said.startswith("too many wrong passwords")
        waits.append(float(said.split()[-2]))
        now += waits[-1]
    assert waits == [60, 120, 240, 480, 960, 1920, LONGEST_WAIT, LONGEST_WAIT, LONGEST_WAIT]
    assert len(count) == 9 * TRIES
    assert checked.refuse("joe", "sesame", 0.0) == ""  # others are not to blame
    assert checked.refuse("eve", "sesame", now) == ""


def test_a_few_wrong_ones_over_hours_are_forgiven(count: list[str]) -> None:
    checked = Password(STORED)
    for number in range(5 * TRIES):
        assert checked.refuse("joe", "wrong", number * MINUTE / 5) == "wrong password"


def test_having_told_none_is_no_guess(count: list[str]) -> None:
    checked = Password(STORED)
    for _ in range(5 * TRIES):
        checked.refuse("joe", "", 0.0)
    assert checked.refuse("joe", "sesame", 0.0) == ""


@pytest.mark.parametrize(
    "text", ["", "sesame", "scrypt:00:00", "md5:" + STORED[7:], STORED + "0", STORED + ":"]
)
def test_what_is_no_hash_is_refused_with_the_command_that_makes_one(text: str) -> None:
    with pytest.raises(BadConfig, match="mesh passwd"):
        check_hash(text)
