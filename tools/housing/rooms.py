"""Figures of the imports: packages, layers and dependencies."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

import grimp

# Commands and calls of clients, which import the command line and the client that are made of them.
CLIENTS = re.compile(r"^mesh\.features\.\w+\.(cli|client)\b")


def plan(package: str) -> Mapping[str, set[str]]:
    """Return for each child of a package the siblings that it imports, types included.

    The commands and client calls of features do not count.
    """
    graph = grimp.build_graph("mesh", "tools")
    children = graph.find_children(package)
    clients = {module for module in graph.modules if CLIENTS.search(module)}
    family = {child: (graph.find_descendants(child) | {child}) - clients for child in children}
    owner = {module: child for child, modules in family.items() for module in modules}
    arrows: dict[str, set[str]] = {child: set() for child in children}
    for module, child in owner.items():
        for imported in graph.find_modules_directly_imported_by(module):
            if owner.get(imported, child) != child:
                arrows[child].add(owner[imported])
    return arrows


def floors(arrows: Mapping[str, set[str]]) -> int:
    """Return the length of the longest import chain; 0 if there is a cycle."""

    @cache
    def height(room: str) -> int:
        return 1 + max(map(height, arrows[room]), default=0)

    try:
        return max(map(height, arrows), default=0)
    except RecursionError:
        return 0


def figures(package: str) -> Mapping[str, int]:
    arrows = plan(package)
    return {
        f"rooms of {package}": len(arrows),
        f"floors of {package}": floors(arrows),
        f"arrows of {package}": sum(map(len, arrows.values())),
    }
