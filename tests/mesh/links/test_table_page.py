"""Do the pages show the tables of states as they are?"""

from pathlib import Path

import pytest

from tools.draw_states import main

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"


def test_the_pages_show_the_tables_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check"]) == 0, capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("links.md", "HELLO"),
        ("links.md", "stateDiagram-v2"),
        ("links.md", "3600"),
        ("design.md", "SAID_GOODBYE"),
        ("design.md", "cannot happen"),
        ("design.md", "SOON | 0.3"),
    ],
)
def test_a_page_that_shows_something_else_is_found_and_drawn_anew(
    tmp_path: Path, name: str, word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    page, right = tmp_path / name, (DOCS / name).read_text(encoding="utf-8")
    # What stands between the marks is spoilt, nothing outside of them.
    before, mark, rest = right.partition("begin -->")
    drawn, end, after = rest.partition("<!-- drawn from")
    assert word in drawn
    page.write_text(before + mark + drawn.replace(word, "NONSENSE") + end + after, encoding="utf-8")
    assert main(["--check", "--page", str(page)]) == 1
    assert "out of date" in capsys.readouterr().err
    assert main(["--page", str(page)]) == 0
    assert page.read_text(encoding="utf-8") == right
