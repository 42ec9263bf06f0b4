"""For tests of programs that use a mesh: a whole one in memory, `async with mesh.testing.Mesh() as m: …`."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mesh.testing.mesh import Mesh

__all__ = ["Mesh"]


def __getattr__(name: str) -> Any:
    # The plugin of pytest is loaded by every pytest in its environment, which is not to wait for a mesh.
    if name != "Mesh":
        raise AttributeError(f"module 'mesh.testing' has no attribute {name!r}")
    return import_module("mesh.testing.mesh").Mesh
