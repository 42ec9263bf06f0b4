"""Writes mesh/sync from the async client; --check fails if a file is out of date.

python -m tools.generate_sync [--check] [--to FOLDER]

A generated class has the signatures and docstrings of the async one, so that go-to-definition and help
work. Its methods wait for their twins in the client's thread (docs/decisions/017-blocking-client.md).
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from tools.sync_parts.sources import ROOT
from tools.sync_parts.table import modules
from tools.sync_parts.text import module_text

FOLDER = ROOT / "mesh" / "sync"
RUFF = (sys.executable, "-m", "ruff")
# Outside the repository, ruff would not know whose modules `mesh` are.
FIRST_PARTY = 'lint.isort.known-first-party = ["mesh"]'
SETTINGS = ("--no-cache", "--config", str(ROOT / "pyproject.toml"), "--config", FIRST_PARTY)


def generated() -> Mapping[str, str]:
    """Return the text of each generated file, by name."""
    with TemporaryDirectory() as folder:
        for name, module in modules().items():
            (Path(folder) / f"{name}.py").write_text(module_text(module))
        for command in (("check", "--quiet", "--select", "I,F401", "--fix"), ("format", "--quiet")):
            subprocess.run([*RUFF, *command, *SETTINGS, folder], check=True)
        return {path.name: path.read_text() for path in sorted(Path(folder).glob("*.py"))}


def main() -> int:
    parser = argparse.ArgumentParser(description="Write mesh/sync from the async client.")
    parser.add_argument("--check", action="store_true", help="only compare; exit 1 if a file is out of date")
    parser.add_argument("--to", type=Path, default=FOLDER, help="path of the folder; default: mesh/sync")
    options = parser.parse_args()
    texts = generated()
    old = {name: options.to / name for name in texts}
    stale = [name for name, path in old.items() if not path.exists() or path.read_text() != texts[name]]
    if not options.check:
        for name in stale:
            old[name].write_text(texts[name])
    elif stale:
        print(
            f"{', '.join(stale)} of mesh/sync: out of date. Type: python -m tools.generate_sync",
            file=sys.stderr,
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
