"""Texts from others on a screen: unprintable characters are escaped."""

import shlex
import unicodedata
from collections.abc import Iterable
from pathlib import Path

import pytest

from mesh.errors import DataDirRefused, KeysRefused
from mesh.history.printable import visible
from mesh.history.report.figures import LONGEST
from mesh.history.report.figures import harmless as harmless_in_reports
from mesh.local.datadir import DataDir
from mesh.local.private import cookie, private_directory
from mesh.printable import count, harmless, typed
from mesh.security.keyfiles import read_mesh
from tests.seeds import scenarios

NEVER = ("Cc", "Cf", "Zl", "Zp", "Co", "Cs", "Cn")


# Most of the planes above 1 is unassigned or private, so only the whole run tries all numbers.
PLANES = pytest.mark.parametrize("planes", scenarios([(0, 14), range(17)]), ids=("assigned", "all"))


def letters(planes: Iterable[int]) -> str:
    """Return all characters of `planes` but the tab."""
    return "".join(chr(plane * 0x10000 + n) for plane in planes for n in range(0x10000)).replace("\t", "")


@PLANES
def test_trial_A7_no_control_format_or_separator_reaches_a_screen_whatever_its_number(
    planes: Iterable[int],
) -> None:
    shown = harmless("".join(letter for letter in letters(planes) if unicodedata.category(letter) in NEVER))
    assert len(shown) > 400_000 and shown.isascii()


@pytest.mark.parametrize(
    "mark",
    [
        "\u202a", "\u202e", "\u2066", "\u2069", "\u2028", "\u2029", "\u200b", "\u200f", "\ufeff", "\xad",
        # Unicode calls these letters or marks, but they are invisible.
        "\u034f", "\u115f", "\u1160", "\u17b4", "\u180b", "\u2800", "\u3164", "\ufe0f", "\uffa0",
        "\U000e0100",
    ],
)  # fmt: skip
def test_trial_A7_a_mark_that_nobody_sees_is_spelt_out(mark: str) -> None:
    written = mark.encode("unicode_escape").decode()
    assert harmless(f"a{mark}b") == f"a{written}b"
    assert harmless_in_reports(f"a{mark}b") == f"a{written}b"


@PLANES
def test_trial_A7_reports_and_terminals_escape_the_same(planes: Iterable[int]) -> None:
    in_reports, on_terminals = visible(letters(planes)), harmless(letters(planes))
    is_same = in_reports == on_terminals
    assert is_same  # a diff of these long texts is slow
    assert len(harmless_in_reports("\u202e" * LONGEST)) <= LONGEST


@pytest.mark.parametrize("text", ["", "a b", "Grüße", "日本語", "a\tb", "naïve — 3 €", "🦩"])
def test_what_can_be_seen_stays_as_it_is(text: str) -> None:
    assert harmless(text) == text


@pytest.mark.parametrize(
    "text",
    ["plain", "two words", "a;rm -rf ~", "$(id)", "`id`", "it's", "*", "~", "-rf", "--all", "", "a\nb", "#x"],
)
def test_trial_C_what_somebody_shall_type_is_one_word_whatever_is_in_it(text: str) -> None:
    first, *rest = shlex.split(f"rm {typed(text)}", comments=True)
    assert first == "rm"
    assert rest == (["--", harmless(text)] if text.startswith("-") else [harmless(text)])


def test_trial_C_hints_quote_the_names_that_they_repeat(tmp_path: Path) -> None:
    state = tmp_path / "my state"
    data = DataDir.open(state / "a b")
    data.close()
    (state / "a b" / "identity.json").write_text("{")
    with pytest.raises(DataDirRefused, match=r"mv '.*/my state/a b' '.*/my state/a b.old'"):
        DataDir.open(state / "a b")
    (state / "a b").chmod(0o777)
    with pytest.raises(DataDirRefused, match=r"chmod 700 '.*/my state/a b'"):
        DataDir.open(state / "a b")
    (state / "cookie").write_bytes(b"x")
    (state / "cookie").chmod(0o600)
    with pytest.raises(DataDirRefused, match=r"rm '.*/my state/cookie'"):
        cookie(state)
    private_directory(state / "keys", "")
    (state / "keys" / "default.json").write_text("{}")
    (state / "keys" / "default.json").chmod(0o600)
    with pytest.raises(KeysRefused, match=r"mv '.*/my state/keys/default.json'"):
        read_mesh(state, "default")


def test_one_is_no_plural() -> None:
    assert [count(n, "message") for n in (0, 1, 2, 1234)] == [
        "0 messages", "1 message", "2 messages", "1,234 messages",
    ]  # fmt: skip
