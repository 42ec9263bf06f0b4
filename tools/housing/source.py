"""Figures of the text: lines, functions, names, docstrings."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = ("mesh", "discovery", "balancers", "spark")
LONG_FILE, LONG_FUNCTION = 250, 40  # lines
# First words that leave the subject open.
OPEN = {"it", "what", "who", "those", "somebody", "nobody", "whoever", "which", "how", "where", "whom"}
Function = ast.FunctionDef | ast.AsyncFunctionDef


def files(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def lines(path: Path) -> int:
    return len(path.read_text().splitlines())


def is_generated(path: Path) -> bool:
    """Return whether a tool writes the file, as its docstring says."""
    return bool(re.search(r"^Generated from mesh/", path.read_text(), re.MULTILINE))


def sizes() -> Mapping[str, int]:
    """Return the sizes of the shipped source, and the number of `fmt: skip` in it, in tools and in tests."""
    functions = [
        node for path in files(*SHIPPED) for node in ast.walk(_tree(path)) if isinstance(node, Function)
    ]
    return {
        "lines of mesh/": sum(lines(path) for path in files("mesh") if not is_generated(path)),
        "generated lines of mesh/": sum(map(lines, filter(is_generated, files("mesh")))),
        "files": len(files(*SHIPPED)),
        f"files past {LONG_FILE} lines": sum(lines(path) > LONG_FILE for path in files(*SHIPPED)),
        f"functions past {LONG_FUNCTION} lines": sum(_length(node) > LONG_FUNCTION for node in functions),
        "fmt: skip, shipped and tools": _skips(*SHIPPED, "tools"),
        "fmt: skip, tests": _skips("tests"),
    }


def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def _length(node: Function) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def _skips(*folders: str) -> int:
    return sum(len(re.findall(r"# fmt: skip", path.read_text())) for path in files(*folders))


def meanings() -> dict[str, list[str]]:
    """Return the public classes and type aliases that several files define, with these files.

    A name in mesh.sync counts only without a twin for asyncio.
    """
    where: dict[str, list[str]] = {}
    for path in files("mesh", "discovery", "balancers"):
        for name in _named(_tree(path)):
            where.setdefault(name, []).append(str(path.relative_to(ROOT)))
    return {name: paths for name, paths in sorted(where.items()) if len(_apart(paths)) > 1}


def _apart(paths: list[str]) -> list[str]:
    """Return the paths without files of mesh.sync that have an asyncio twin, as both mean the same."""
    has_twin = any(path.startswith(("mesh/client/", "mesh/embedded/")) for path in paths)
    return [path for path in paths if not (has_twin and path.startswith("mesh/sync/"))]


def _named(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        match node:
            case ast.ClassDef(name=name) if not name.startswith("_"):
                yield name
            case ast.Assign(targets=[ast.Name(id=name)]) if re.fullmatch(r"[A-Z]+[a-z]\w*", name):
                yield name


def docstrings() -> Mapping[str, int]:
    """Return the number of docstrings of shipped classes and functions, and the number of poor openings.

    An opening is poor without a subject, or, of a class, with a parameter.
    """
    counts: Counter[str] = Counter()
    for path in files(*SHIPPED):
        for node in ast.walk(_tree(path)):
            if isinstance(node, ast.ClassDef | Function) and (text := ast.get_docstring(node)):
                counts["docstrings"] += 1
                counts["docstrings that begin with It, What, Who …"] += text.split()[0].lower() in OPEN
                is_class = isinstance(node, ast.ClassDef)
                counts["docstrings of classes that begin with a parameter"] += is_class and text[0] == "`"
    return counts


def set_later() -> list[str]:
    """Return attributes of other components that constructors of the core set, or methods that these call."""
    return [found for path in files("mesh/kernel") for found in _set_later(path)]


def _set_later(path: Path) -> Iterator[str]:
    for made in ast.walk(_tree(path)):
        if isinstance(made, ast.ClassDef):
            methods = {node.name: node for node in made.body if isinstance(node, Function)}
            for method in _of_construction(methods):
                for node in ast.walk(method):
                    match node:
                        case ast.Attribute(ctx=ast.Store()) if _is_others(target := ast.unparse(node)):
                            yield f"{path.name}: {target}"


def _of_construction(methods: Mapping[str, Function]) -> Iterator[Function]:
    """Yield `__init__`, and the methods of the class that it calls."""
    todo, seen = ["__init__"], set[str]()
    while todo:
        name = todo.pop()
        if name in methods and name not in seen:
            seen.add(name)
            yield methods[name]
            for node in ast.walk(methods[name]):
                match node:
                    case ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=called)):
                        todo.append(called)


def _is_others(target: str) -> bool:
    return bool(re.fullmatch(r"self\.\w+(\.\w+)+|(?!self\b)\w+(\.\w+)+", target))
