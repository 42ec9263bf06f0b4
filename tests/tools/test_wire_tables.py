"""The generated parts of docs/wire.md and docs/wire-vectors.json are up to date."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from mesh.wire import limits
from mesh.wire.commands import Hello
from tools.wire_parts.codes import PLACES
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


CODE = re.compile(r"[A-Z]{3,}|[A-Z]{2,}(_[A-Z]+)+")
# Codes that no peer receives: errors of a start or of the configuration.
NOT_SENT = {"BAD_REDISTRIBUTION", "STORE_MISPLACED"}


def codes_in(source: str) -> Iterator[str]:
    """Yield the codes in a module: values of `code=`, and returned constants."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Return) or (isinstance(node, ast.keyword) and node.arg == "code"):
            yield from filter(CODE.fullmatch, texts_of(node.value))


def texts_of(value: ast.AST | None) -> Iterator[str]:
    """Yield the constant texts that an expression may have as its value."""
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        yield value.value
    elif isinstance(value, ast.IfExp):
        yield from (*texts_of(value.body), *texts_of(value.orelse))
    elif isinstance(value, ast.BoolOp):
        for each in value.values:
            yield from texts_of(each)


def test_codes_are_found_in_errors_and_in_returned_constants() -> None:
    source = """
def f(a):
    if a:
        raise LocalError("Text.", code="ONE_CODE" if a > 1 else "OTHER")
    return a == "NO_CODE" or reason("NO_CODE")

def g(a):
    return "FOURTH" if a else ""
"""
    assert set(codes_in(source)) == {"ONE_CODE", "OTHER", "FOURTH"}


def test_each_code_with_which_a_node_refuses_is_in_the_table() -> None:
    root = DOCS.parent / "mesh"
    kernel, features = (root / "kernel").rglob("*.py"), (root / "features").glob("*/*/**/*.py")
    modules = [*kernel, *(path for path in features if {"node", "model"} & set(path.parts))]
    found = {code: path for path in modules for code in codes_in(path.read_text(encoding="utf-8"))}
    assert {"MAP_FULL", "LOCK_HELD", "NO_SPACE"} <= found.keys()
    listed = {code for codes in PLACES.values() for code in codes}
    assert not {code: path for code, path in found.items() if code not in listed | NOT_SENT}
    assert found.keys() >= NOT_SENT


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
