"""Text of generated classes and modules."""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Iterator, Mapping
from textwrap import indent, wrap

from tools.sync_parts.method import WIDTH, Method, blocking_name, passed_on, quoted, signature
from tools.sync_parts.sources import Function, class_of, methods, source
from tools.sync_parts.table import Generated, GeneratedModule, homes


def module_text(module: GeneratedModule) -> str:
    """Return a module before it is formatted."""
    found = homes()
    classes = "\n\n\n".join(_class(made, frozenset(found)) for made in module.classes)
    sources = sorted({source(made.module).path for made in module.classes})
    head = [
        f'"""{module.doc.splitlines()[0]}\n',
        *wrap(f"Generated from {' and '.join(sources)}: change that, and type `tools/generate_sync`.", WIDTH),
        '"""\n',
        "from __future__ import annotations",
    ]
    return "\n".join([*head, *sorted(_imports(module, classes, found)), "", classes, ""])


def _imports(module: GeneratedModule, text: str, found: Mapping[str, str]) -> Iterator[str]:
    """Yield the imports that the text needs; those of names that are also arguments are left out."""
    nodes = list(ast.walk(ast.parse(text)))
    used = {node.id for node in nodes if isinstance(node, ast.Name)}
    used -= {node.arg for node in nodes if isinstance(node, ast.arg)}
    used -= {made.name for made in module.classes}
    twins = [source(made.module) for made in module.classes]
    imported = {each: statement for twin in twins for each, statement in twin.homes.items()}
    for twin in twins:
        package, _, last = twin.module.rpartition(".")
        imported[last] = f"from {package} import {last}"
    for each in used:
        if each in found:
            yield f"from {found[each]} import {each}"
        elif each in imported:
            yield imported[each]


def _class(made: Generated, names: frozenset[str]) -> str:
    by_hand = class_of(made.by_hand)
    doc = made.doc or ast.get_docstring(by_hand) or ""
    members = list(_constructor(made) if made.opener else _members(made, methods(by_hand), names))
    body = "\n\n".join(indent(each, "    ") for each in [quoted(doc), *members])
    text = f"class {made.name}({made.bases}):\n{body}"
    return f"{text}\n\n\n{_opener(made)}" if made.opener else text


def _members(made: Generated, by_hand: Mapping[str, Function], names: frozenset[str]) -> Iterator[str]:
    nodes = [node for node in class_of(made.twin).body if isinstance(node, Function)]
    for node in nodes:
        if _is_generated(node, made, by_hand):
            model = f"{made.module.rpartition('.')[2]}.{made.name}.{node.name}"
            is_overloaded = sum(each.name == node.name for each in nodes) > 1
            hand = by_hand.get(blocking_name(node))
            yield Method(node, model, hand, names, made.is_item, is_overloaded).text


def _is_generated(node: Function, made: Generated, by_hand: Mapping[str, Function]) -> bool:
    if node.name.startswith("_"):
        return False
    # An item inherits the rest from its twin.
    return not made.is_item or node.name in by_hand or isinstance(node, ast.AsyncFunctionDef)


def _constructor(made: Generated) -> Iterator[str]:
    """Yield the constructor of a client, with the arguments of its opener."""
    node = copy.deepcopy(source(made.module).function_named(made.opener))
    model, passed = _model(made), ", ".join(passed_on(node))
    node.name, node.returns = "__init__", ast.Constant(None)
    node.args.args.insert(0, ast.arg("self"))
    yield f"@shows_options({model})\n{signature(node)}\n    self._hold({model}({passed}))"


def _opener(made: Generated) -> str:
    """Return the function that creates a client."""
    node = source(made.module).function_named(made.opener)
    doc = re.sub(r"\ba client of\b", "a blocking client of", ast.get_docstring(node) or "")
    body = f"{quoted(doc)}\nreturn {made.name}({', '.join(passed_on(node))})"
    return f"@shows_options({_model(made)})\n{signature(node)}\n{indent(body, '    ')}"


def _model(made: Generated) -> str:
    return f"{made.module.rpartition('.')[2]}.{made.opener}"
