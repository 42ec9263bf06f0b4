"""Parsed modules of the repository: their classes, functions, and where their names come from."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
Function = ast.FunctionDef | ast.AsyncFunctionDef


class Source:
    """A module of the repository; `homes` has the import statement of each name that it uses or defines."""

    def __init__(self, module: str) -> None:
        self.module = module
        self.path = f"{module.replace('.', '/')}.py"
        self._tree = ast.parse((ROOT / self.path).read_text())
        self.doc = ast.get_docstring(self._tree) or ""
        self.homes = dict(self._names())

    def class_named(self, name: str) -> ast.ClassDef:
        [found] = [node for node in self._tree.body if isinstance(node, ast.ClassDef) and node.name == name]
        return found

    def function_named(self, name: str) -> Function:
        [found] = [node for node in self._tree.body if isinstance(node, Function) and node.name == name]
        return found

    def _names(self) -> Iterator[tuple[str, str]]:
        for node in ast.walk(self._tree):
            match node:
                case ast.ImportFrom(module=str(module), names=names):
                    for each in names:
                        yield each.asname or each.name, ast.unparse(ast.ImportFrom(module, [each], 0))
                case ast.Import(names=names):
                    for each in names:
                        yield each.name, ast.unparse(ast.Import([each]))
        for node in self._tree.body:
            match node:
                case ast.ClassDef(name=name) | ast.Assign(targets=[ast.Name(id=name)]):
                    yield name, f"from {self.module} import {name}"


@cache
def source(module: str) -> Source:
    return Source(module)


def class_of(name: str) -> ast.ClassDef:
    """Return the class MODULE:CLASS."""
    module, _, kind = name.partition(":")
    return source(module).class_named(kind)


def methods(node: ast.ClassDef) -> dict[str, Function]:
    """Return the methods of a class by name; of an overloaded one, the implementation."""
    return {each.name: each for each in node.body if isinstance(each, Function)}


def decorators(node: Function) -> set[str]:
    """Return the names of the decorators of a function."""
    called = [each.func if isinstance(each, ast.Call) else each for each in node.decorator_list]
    return {each.id for each in called if isinstance(each, ast.Name)}
