"""A whole mesh in memory, for tests: `async with mesh.testing.Mesh() as m: …`."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mesh.testing.mesh import Mesh

__all__ = ["Mesh"]


def __getattr__(name: str) -> Any:
    # Every pytest run in this environment loads the plugin and must not wait for a mesh to be imported.
    if name != "Mesh":
        raise AttributeError(f"module 'mesh.testing' has no attribute {name!r}")
    return import_module("mesh.testing.mesh").Mesh
