"""The packages that a message passes, by the files whose code was executed."""

import pytest

from tools.housing.passes import package_of


@pytest.mark.parametrize(
    ("file", "package"),
    [
        ("mesh/names.py", "mesh"),
        ("mesh/wire/frames.py", "mesh/wire"),
        ("mesh/kernel/peers/peer.py", "mesh/kernel"),
        ("mesh/features/sites/node/gateway.py", "mesh/features/sites"),
        ("mesh/features/why/explaining.py", "mesh/features/why"),
    ],
)
def test_a_package_is_a_folder_of_mesh_or_a_feature(file: str, package: str) -> None:
    assert package_of(file) == package
