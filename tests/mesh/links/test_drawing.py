import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "links.md"


def draw(*options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tools.draw_states", *options],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_page_on_links_shows_the_table_as_it_is() -> None:
    result = draw("--check")
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("word", ["HELLO", "stateDiagram-v2", "3600"])
def test_a_page_that_shows_something_else_is_found_and_drawn_anew(tmp_path: Path, word: str) -> None:
    page = tmp_path / "links.md"
    # Everything between the marks is spoilt, nothing outside of them.
    before, mark, rest = PAGE.read_text(encoding="utf-8").partition("begin -->")
    page.write_text(before + mark + rest.replace(word, "NONSENSE"), encoding="utf-8")
    result = draw("--check", "--page", str(page))
    assert result.returncode == 1
    assert "out of date" in result.stderr
    assert draw("--page", str(page)).returncode == 0
    assert page.read_text(encoding="utf-8") == PAGE.read_text(encoding="utf-8")
