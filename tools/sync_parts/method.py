"""Text of generated methods."""

from __future__ import annotations

import ast
import copy
import re
from textwrap import indent
from typing import NamedTuple

from tools.sync_parts.sources import Function, decorators

WIDTH = 95  # columns of a line, before it is formatted
# In docstrings, in this order; in code.
WORDS = (
    ("async with", "with"), ("async for", "for"), ("async def", "def"), ("await asyncio.sleep", "time.sleep"),
    ("await ", ""), ("mesh.connect(", "mesh.sync.connect("), ("mesh.node(", "mesh.sync.node("),
)  # fmt: skip
NAMES = {"AsyncIterator": "Iterator", "aclose": "close", "asynccontextmanager": "contextmanager"}
MARKS = ("property", "overload", "asynccontextmanager")  # decorators that the generated method has, too
IGNORE = "  # type: ignore[override]"


class Method(NamedTuple):
    """A method to be generated.

    `model` is its twin, as the generated module names it, and `hand` the hand-written method that it calls.
    `made` has the names of blocking classes.
    """

    node: Function
    model: str
    hand: Function | None
    made: frozenset[str]
    is_item: bool = False
    is_overloaded: bool = False

    @property
    def text(self) -> str:
        marks = decorators(self.node)
        lines = [f"@{NAMES.get(mark, mark)}" for mark in MARKS if mark in marks]
        if "shows_options" in marks:
            lines.append(f"@shows_options({self.model})")
        lines.append(signature(self.node, is_override=self.is_item and self._is_async))
        if "overload" in marks:
            return "\n".join([*lines[:-1], f"{lines[-1]} ..."])
        doc = (self.hand and ast.get_docstring(self.hand)) or ast.get_docstring(self.node)
        docs = [indent(quoted(doc), "    ")] if doc else []
        return "\n".join([*lines, *docs, indent(self._body(), "    ")])

    @property
    def _is_async(self) -> bool:
        return isinstance(self.node, ast.AsyncFunctionDef)

    @property
    def _is_property(self) -> bool:
        return "property" in decorators(self.node)

    def _body(self) -> str:
        """Return the statements, which depend on the kind of the twin."""
        node, passed = self.node, passed_on(self.node)
        name, call = blocking_name(node), f"self._aio.{node.name}({', '.join(passed)})"
        if self.hand is not None:
            return self._super(f"super().{name}" + ("" if self._is_property else f"({', '.join(passed)})"))
        if self._is_property:
            return f"return self._aio.{name}"
        if not self._is_async:
            kind = _outer(node.returns)
            return (
                f"return {kind}(self._client, self._thread, {call})"
                if kind in self.made
                else f"return {call}"
            )
        if self.is_item:
            return f"return self._loop_thread.run({', '.join([f'super().{name}', *passed])})"
        if not any(each.arg == "timeout" for each in node.args.kwonlyargs):
            return f"return self._run(None, lambda: {call})"
        return self._limited(call.replace("timeout=timeout", "timeout=left()"))

    def _limited(self, call: str) -> str:
        """Return the statements of a method whose limit covers earlier posts and the call together."""
        left, name = "left = self._left(timeout)\n", self.node.name
        if self.is_overloaded:  # a type checker would take the type of one overload
            left += (
                f"{name}: Callable[..., Coroutine[Any, Any, {_text(self.node.returns)}]] = self._aio.{name}\n"
            )
            call = call.removeprefix("self._aio.")
        return f"{left}return self._run(left(), lambda: {call})"

    def _super(self, call: str) -> str:
        """Return the statements of a method that calls the hand-written one."""
        assert self.hand is not None
        if "asynccontextmanager" in decorators(self.node):
            return f"with {call}:\n    yield"
        if _outer(self.hand.returns) == "Any":
            return f"found: {_text(self.node.returns)} = {call}\nreturn found"
        return call if isinstance(self.node.returns, ast.Constant) else f"return {call}"


class _Blocking(ast.NodeTransformer):
    """Replaces names of asyncio in annotations."""

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(NAMES.get(node.id, node.id))


def _text(annotation: ast.expr | None) -> str:
    assert annotation is not None
    return ast.unparse(_Blocking().visit(copy.deepcopy(annotation)))


def _outer(annotation: ast.expr | None) -> str:
    """Return the name of a type without its parameters; "" for others."""
    inner = annotation.value if isinstance(annotation, ast.Subscript) else annotation
    return inner.id if isinstance(inner, ast.Name) else ""


def blocking_name(node: Function) -> str:
    return NAMES.get(node.name, node.name)


def signature(node: Function, *, is_override: bool = False) -> str:
    """Return the first line of a function. `is_override`: it overrides a coroutine function."""
    inside = ast.unparse(_Blocking().visit(copy.deepcopy(node.args)))
    inside = re.sub(r"\b\d{5,}\b", lambda found: f"{int(found[0]):_}", inside)  # as the source has it
    back = f" -> {_text(node.returns)}" if node.returns else ""
    line = f"def {blocking_name(node)}({inside}){back}:"
    if not is_override:
        return line
    # mypy reads the comment on the first line only.
    return line + IGNORE if len(line) < WIDTH else f"def {node.name}({IGNORE}\n    {inside}\n){back}:"


def passed_on(node: Function) -> list[str]:
    """Return the arguments of a call that passes on those of `node`, without self."""
    args = node.args
    found = [each.arg for each in [*args.posonlyargs, *args.args] if each.arg != "self"]
    found += [f"*{args.vararg.arg}"] if args.vararg else []
    found += [f"{each.arg}={each.arg}" for each in args.kwonlyargs]
    return found + ([f"**{args.kwarg.arg}"] if args.kwarg else [])


def quoted(doc: str) -> str:
    """Return a docstring with its quotes, in the words of a blocking client."""
    for asynchronous, blocking in WORDS:
        doc = doc.replace(asynchronous, blocking)
    assert "\\" not in doc and '"""' not in doc
    return f'"""{doc}\n"""' if "\n" in doc else f'"""{doc}"""'
