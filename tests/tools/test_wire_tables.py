"""The generated parts of docs/wire.md and docs/wire-vectors.json are up to date."""

from pathlib import Path

import pytest

from mesh.wire import limits
from mesh.wire.commands import Hello
from tools.wire_parts.reading import constants, description, fields, meanings, sentence
from tools.wire_tables import BEGIN, DOCS, main


def test_the_files_are_up_to_date(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check"]) == 0, capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "text"),
    [("wire.md", "| 1 | versions |"), ("wire.md", "| `NO_ROOM` |"), ("wire-vectors.json", "c4")],
)
def test_a_file_that_differs_is_found_and_written_anew(
    tmp_path: Path, name: str, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    right = {each: (DOCS / each).read_text(encoding="utf-8") for each in ("wire.md", "wire-vectors.json")}
    for each, content in right.items():
        (tmp_path / each).write_text(content, encoding="utf-8")
    assert text in right[name].partition(BEGIN)[2] or name.endswith("json")
    (tmp_path / name).write_text(right[name].replace(text, "NONSENSE"), encoding="utf-8")
    assert main(["--check", "--docs", str(tmp_path)]) == 1
    assert f"{name} is out of date" in capsys.readouterr().err
    assert main(["--docs", str(tmp_path)]) == 0
    assert (tmp_path / name).read_text(encoding="utf-8") == right[name]


def test_what_stands_before_the_marks_stays() -> None:
    page = (DOCS / "wire.md").read_text(encoding="utf-8")
    assert len(page.partition(BEGIN)[0].encode()) <= 20_000


class Shape(Hello, frozen=True, tag=98):
    """One sentence.

    A second one, which is
    longer.

    Attributes:
        role: Short `a`: b.
        added: A meaning
            of two lines.
    """

    added: int = 0


def test_a_docstring_is_read_in_its_parts() -> None:
    assert sentence(Shape) == "One sentence."
    assert " ".join(description(Shape)).strip() == "One sentence. A second one, which is longer."
    told = meanings(Shape)
    assert (told["role"], told["added"]) == ("Short `a`: b.", "A meaning of two lines.")
    assert told["cluster"] == meanings(Hello)["cluster"]
    (*_, last) = fields(Shape)
    assert last == ("added", "int", "`0`", "A meaning of two lines.")


def test_a_field_without_a_meaning_is_an_error() -> None:
    class Silent(Hello, frozen=True, tag=97):
        added: int = 0

    with pytest.raises(KeyError, match="added"):
        list(fields(Silent))


def test_a_comment_is_behind_a_constant_or_above_it() -> None:
    told = {each.name: each for each in constants(limits)}
    assert told["PIECE"] == ("PIECE", limits.PIECE, "Bytes of a piece.")
    assert told["ENVELOPE_BYTES"].meaning.startswith("Bytes of a body with its keys")
    assert "MIB" not in told
