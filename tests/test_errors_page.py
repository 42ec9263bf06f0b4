"""Agreement of docs/errors.md with mesh/errors.py, and a description of every code on some page."""

import inspect
import re

import mesh
from mesh import errors
from mesh.errors import MeshError
from tests.pages import ROOT

PAGE = (ROOT / "docs" / "errors.md").read_text()
KINDS = {
    name: kind
    for name, kind in vars(errors).items()
    if isinstance(kind, type) and issubclass(kind, MeshError)
}
ROWS = re.findall(r"^\| `(\w+)` \| `([A-Z_]+)` \| (.+) \| (.+) \|$", PAGE, re.MULTILINE)


def test_each_error_stands_on_the_page_as_in_the_module_and_in_its_order() -> None:
    said = [(name, code, what) for name, code, what, _ in ROWS]
    assert said == [(name, kind.code, first_sentence(kind)) for name, kind in KINDS.items()]


def first_sentence(kind: type) -> str:
    return (inspect.getdoc(kind) or "").splitlines()[0].rstrip(".")


def test_each_has_a_cure() -> None:
    assert all(len(cure) > 10 for *_, cure in ROWS)


def test_the_drawing_in_the_module_names_each_error() -> None:
    drawing = errors.__doc__ or ""
    assert [name for name in KINDS if not re.search(rf"\b{name}\b", drawing)] == []


def test_every_code_in_the_code_stands_on_this_page_or_on_that_of_the_wire() -> None:
    known = set(re.findall(r"`([A-Z_]+)`", PAGE + (ROOT / "docs" / "wire.md").read_text()))
    used = {
        code
        for path in (ROOT / "mesh").rglob("*.py")
        for code in re.findall(r"""\bcode ?= ?"([A-Z_]+)\"""", path.read_text())
    }
    assert len(used) > 50
    assert used - known == set()


def test_all_errors_can_be_had_from_the_package() -> None:
    assert mesh.errors is errors
    assert {name for name in dir(errors) if name in KINDS} == set(KINDS)
