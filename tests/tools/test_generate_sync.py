"""The files of mesh/sync are current, and their calls are defined there."""

import ast
import inspect
import sys
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest

import mesh
from mesh import sync
from mesh.sync.embedded import NodeClient
from tools import generate_sync
from tools.housing.source import is_generated
from tools.sync_parts.method import Method, quoted
from tools.sync_parts.sources import Function
from tools.sync_parts.table import features, modules

KINDS = [
    (mesh.Client, sync.Client),
    (mesh.Queue, sync.Queue),
    (mesh.Consumer, sync.Consumer),
    (mesh.Delivery, sync.Delivery),
    (mesh.Deliveries, sync.Deliveries),
    (mesh.Request, sync.Request),
    (mesh.Service, sync.Service),
    (mesh.Gathering, sync.Gathering),
    (mesh.Registrations, sync.Registrations),
]
RENAMED = {"aclose": "close"}


def public(kind: type) -> dict[str, Any]:
    return {name: inspect.getattr_static(kind, name) for name in dir(kind) if not name.startswith("_")}


def test_the_files_are_what_the_async_client_makes() -> None:
    made = generate_sync.generated()
    there = {path.name: path.read_text() for path in generate_sync.FOLDER.glob("*.py") if is_generated(path)}
    assert made == there, "Type: python -m tools.generate_sync"


def test_a_file_that_is_out_of_date_is_named_and_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(generate_sync, "generated", lambda: {"a.py": "new", "b.py": "same"})
    (tmp_path / "a.py").write_text("old")
    (tmp_path / "b.py").write_text("same")
    monkeypatch.setattr(sys, "argv", ["generate_sync", "--check", "--to", str(tmp_path)])
    assert generate_sync.main() == 1 and (tmp_path / "a.py").read_text() == "old"
    assert "a.py of mesh/sync: out of date. Type: python -m tools.generate_sync" in capsys.readouterr().err
    monkeypatch.setattr(sys, "argv", ["generate_sync", "--to", str(tmp_path)])
    assert generate_sync.main() == 0 and (tmp_path / "a.py").read_text() == "new"


@pytest.mark.parametrize(("asynchronous", "blocking"), KINDS)
def test_each_class_has_the_public_names_of_its_twin(asynchronous: type, blocking: type) -> None:
    assert {RENAMED.get(name, name) for name in public(asynchronous)} <= public(blocking).keys()


@pytest.mark.parametrize(("asynchronous", "blocking"), KINDS)
def test_go_to_definition_finds_each_call_with_its_types_and_docstring(
    asynchronous: type, blocking: type
) -> None:
    sources = {made.module for module in modules().values() for made in module.classes}
    for name, twin in public(asynchronous).items():
        call = public(blocking)[RENAMED.get(name, name)]
        if isinstance(twin, FunctionType) and twin.__module__ in sources:
            assert isinstance(call, FunctionType) and call.__doc__
            inner = inspect.unwrap(call)
            assert "mesh/sync/" in inner.__code__.co_filename or not inspect.iscoroutinefunction(twin)
            lines, _ = inspect.getsourcelines(inner)
            assert any(f"def {call.__name__}(" in line for line in lines)
            assert "return" in inner.__annotations__ and "Any: ..." not in "".join(lines)
            typed = {n: p.annotation for n, p in inspect.signature(call).parameters.items() if n != "self"}
            given = {n: p.annotation for n, p in inspect.signature(twin).parameters.items() if n != "self"}
            assert typed == given


def test_the_list_of_features_is_that_of_the_async_client() -> None:
    assert [base.__name__ for base in sync.Client.__bases__] == [b.__name__ for b in mesh.Client.__bases__]
    assert set(features()) == {base.__name__ for base in mesh.Client.__bases__}
    assert issubclass(NodeClient, sync.Client)
    assert {made.name for module in modules().values() for made in module.classes} >= features().keys()


def method(text: str, *, hand: str = "", **how: Any) -> str:
    node, by_hand = ast.parse(text).body[-1], ast.parse(hand).body[0] if hand else None
    assert isinstance(node, Function) and (by_hand is None or isinstance(by_hand, Function))
    return Method(node, "m.K.f", by_hand, frozenset({"Kind"}), **how).text


@pytest.mark.parametrize(
    ("text", "how", "made"),
    [
        (
            "async def f(self, a: int, *b: str, c: int = 1, **d: Any) -> int: ...",
            {},
            "def f(self, a: int, *b: str, c: int=1, **d: Any) -> int:\n"
            "    return self._run(None, lambda: self._aio.f(a, *b, c=c, **d))",
        ),
        (
            "async def f(self, *, timeout: float | None = 5) -> int: ...",
            {},
            "def f(self, *, timeout: float | None=5) -> int:\n    left = self._left(timeout)\n"
            "    return self._run(left(), lambda: self._aio.f(timeout=left()))",
        ),
        (
            "def f(self, a: int) -> Kind[T]: ...",
            {},
            "def f(self, a: int) -> Kind[T]:\n    return Kind(self._client, self._thread, self._aio.f(a))",
        ),
        (
            "def f(self, a: int = 10_000) -> int: ...",
            {},
            "def f(self, a: int=10_000) -> int:\n    return self._aio.f(a)",
        ),
        ("@property\ndef f(self) -> int: ...", {}, "@property\ndef f(self) -> int:\n    return self._aio.f"),
        (
            "@property\ndef f(self) -> int: ...",
            {"hand": "def f(self): ..."},
            "@property\ndef f(self) -> int:\n    return super().f",
        ),
        (
            "async def aclose(self) -> None: ...",
            {"hand": "def close(self): ..."},
            "def close(self) -> None:\n    super().close()",
        ),
        (
            "async def f(self) -> AsyncIterator[int]: ...",
            {"hand": "def f(self) -> Any: ..."},
            "def f(self) -> Iterator[int]:\n    found: Iterator[int] = super().f()\n    return found",
        ),
        (
            "@asynccontextmanager\nasync def f(self) -> AsyncIterator[None]: ...",
            {"hand": "def f(self): ..."},
            "@contextmanager\ndef f(self) -> Iterator[None]:\n    with super().f():\n        yield",
        ),
        ("@overload\nasync def f(self) -> int: ...", {}, "@overload\ndef f(self) -> int: ..."),
        (
            "async def f(self, a: int) -> bool: ...",
            {"is_item": True},
            "def f(self, a: int) -> bool:  # type: ignore[override]\n"
            "    return self._loop_thread.run(super().f, a)",
        ),
        (
            "@shows_options(g)\ndef f(self, **o: Unpack[O]) -> None: ...",
            {},
            "@shows_options(m.K.f)\ndef f(self, **o: Unpack[O]) -> None:\n    return self._aio.f(**o)",
        ),
    ],
)
def test_a_method_is_made_by_the_kind_of_its_twin(text: str, how: dict[str, Any], made: str) -> None:
    assert method(text, **how) == made


def test_docstrings_tell_of_blocking_calls() -> None:
    text = "Use it.\n\nExample:\n    async with mesh.connect() as m:\n        await m.flush()"
    assert (
        quoted(text) == '"""Use it.\n\nExample:\n    with mesh.sync.connect() as m:\n        m.flush()\n"""'
    )
    hand = 'def f(self):\n    "By hand."'
    assert '"""By hand."""' in method('async def f(self) -> None:\n    "Of the twin."', hand=hand)
    assert '"""Of the twin."""' in method('async def f(self) -> None:\n    "Of the twin."')
