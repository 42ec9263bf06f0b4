"""A pytest plugin with the fixture `mesh_in_memory` and its marker."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from mesh.testing.mesh import Mesh

MARKER = "mesh_in_memory(nodes=1, *, rules='', clock='real'): arguments for the mesh of the fixture"


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker `mesh_in_memory`."""
    config.addinivalue_line("markers", MARKER)


@pytest.fixture
def mesh_in_memory(request: pytest.FixtureRequest) -> Iterator[Mesh]:
    """A mesh of one node, or with the arguments of the marker `mesh_in_memory`, until the test ends."""
    from mesh.testing.mesh import Mesh

    marker = request.node.get_closest_marker("mesh_in_memory")
    with Mesh(*marker.args, **marker.kwargs) if marker else Mesh() as made:
        yield made
