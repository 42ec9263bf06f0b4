"""The tables of states on the pages, as the code generates them."""

from pathlib import Path

import pytest

from tools.draw_states import main

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"


def test_the_pages_show_the_tables_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check"]) == 0, capsys.readouterr().err


@pytest.mark.parametrize(
    ("drawing", "word"),
    [
        (0, "HELLO"),
        (0, "stateDiagram-v2"),
        (0, "3600"),
        (1, "SAID_GOODBYE"),
        (1, "cannot happen"),
        (1, "SOON | 0.3"),
    ],
)
def test_a_page_that_shows_something_else_is_found_and_drawn_anew(
    tmp_path: Path, drawing: int, word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    page, right = tmp_path / "links.md", (DOCS / "links.md").read_text(encoding="utf-8")
    # The text between the marks is damaged, and nothing outside them.
    parts = right.split("<!-- drawn from")
    at = 2 * drawing + 1
    assert word in parts[at]
    parts[at] = parts[at].replace(word, "NONSENSE")
    page.write_text("<!-- drawn from".join(parts), encoding="utf-8")
    assert main(["--check", "--page", str(page)]) == 1
    assert "out of date" in capsys.readouterr().err
    assert main(["--page", str(page)]) == 0
    assert page.read_text(encoding="utf-8") == right
