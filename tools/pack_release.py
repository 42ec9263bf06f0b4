"""Packs the sources of an older release into a file that Python can run, for compatibility tests.

python -m tools.pack_release COMMIT FILE.zip

tests/releases/wire1.zip is of commit 7372fa8, the last one with version 1 of the wire protocol: with
PYTHONPATH=tests/releases/wire1.zip, `python -m mesh up` is a node of that release.
tests/releases/wire2.zip is of commit 8fe0f30f, the last one before features became packages.
"""

import argparse
import subprocess
import zipfile
from pathlib import Path

PACKAGES = ("mesh", "discovery", "balancers")
LINK = "120000"  # git's mode of a symbolic link
EPOCH = (1980, 1, 1, 0, 0, 0)  # equal sources make an equal file
READABLE = 0o100644 << 16


def sources(commit: str) -> dict[str, bytes]:
    rows = [row.split() for row in _git("ls-tree", "-r", commit, *PACKAGES).decode().splitlines()]
    # A link such as mesh/discovery stands for the folder discovery, which the zip has in its place.
    places = {name.rpartition("/")[2]: name for mode, _, _, name in rows if mode == LINK}
    files = {}
    for _, _, _, name in rows:
        if name.endswith(".py"):
            folder, _, rest = name.partition("/")
            files[f"{places.get(folder, folder)}/{rest}"] = _git("show", f"{commit}:{name}")
    return files


def _git(*arguments: str) -> bytes:
    return subprocess.run(["git", *arguments], capture_output=True, check=True).stdout


def pack(files: dict[str, bytes], path: Path) -> None:
    """Write the files into a zip, in the order of their names."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
        for name in sorted(files):
            info = zipfile.ZipInfo(name, EPOCH)
            info.external_attr = READABLE
            packed.writestr(info, files[name], zipfile.ZIP_DEFLATED, 9)


def main() -> None:
    parser = argparse.ArgumentParser(description="Pack the Python sources of a release for tests.")
    parser.add_argument("commit")
    parser.add_argument("path", type=Path)
    options = parser.parse_args()
    files = sources(options.commit)
    pack(files, options.path)
    print(f"{options.path}: {len(files)} files, {options.path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
