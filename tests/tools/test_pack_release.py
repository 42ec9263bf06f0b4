"""A packed release runs with Python, and is the same file whenever it is made."""

import subprocess
import sys
import zipfile
from pathlib import Path

from tools.pack_release import pack

RELEASES = Path(__file__).parents[1] / "releases"


def test_the_same_sources_make_the_same_file_and_python_runs_it(tmp_path: Path) -> None:
    files = {"mesh/__main__.py": b"print('a node')\n", "mesh/__init__.py": b""}
    one, two = tmp_path / "one.zip", tmp_path / "two.zip"
    pack(files, one)
    pack(dict(reversed(files.items())), two)
    assert one.read_bytes() == two.read_bytes()
    with zipfile.ZipFile(one) as packed:
        assert packed.namelist() == sorted(files)
    said = subprocess.run(
        [sys.executable, "-m", "mesh"],
        env={"PYTHONPATH": str(one)},
        cwd=tmp_path,
        capture_output=True,
        check=True,
    )
    assert said.stdout == b"a node\n"


def test_releases_are_sources_and_nothing_else_and_small() -> None:
    releases = sorted(RELEASES.iterdir())
    assert [path.name for path in releases] == ["wire1.zip", "wire2.zip"]
    for version, path in enumerate(releases, 1):
        with zipfile.ZipFile(path) as packed:
            names = packed.namelist()
            assert {name.partition("/")[0] for name in names} == {"mesh", "discovery", "balancers"}
            assert all(name.endswith(".py") for name in names)
            assert f"VERSION_MAX = {version} ".encode() in packed.read("mesh/wire/limits.py")
        assert path.stat().st_size < 1_500_000
