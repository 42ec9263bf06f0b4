"""The texts of reasons: listed on the page, with valid arguments and existing commands."""

import re
from pathlib import Path

from mesh.cli.verbs import VERBS
from mesh.reasons.texts import LOSSES, RANKS, TEXTS
from tests.mesh.reasons.pages import table

ROOT = Path(__file__).parents[3]


def test_the_page_has_all_of_them() -> None:
    assert table() in (ROOT / "docs" / "why.md").read_text()


def test_each_has_a_rank_and_no_full_stop() -> None:
    assert {text.rank for text in TEXTS.values()} == set(RANKS)
    assert [code for code, text in TEXTS.items() if not text.says or text.says.endswith(".")] == []
    assert [code for code, text in TEXTS.items() if text.hint and text.hint[-1] not in ".?"] == []


def test_each_is_said_somewhere() -> None:
    files = [path.read_text() for path in (ROOT / "mesh").rglob("*.py") if path.name != "texts.py"]
    said = set(re.findall(r'"([A-Z][A-Z_]+)"', "".join(files)))
    assert TEXTS.keys() - said == set() and LOSSES.keys() - said == set()


def test_a_hint_names_commands_that_are_there() -> None:
    named = {name for text in TEXTS.values() for name in re.findall(r"`mesh (\w+)", text.hint)}
    assert named <= VERBS.keys() and named
