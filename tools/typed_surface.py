"""Checks with pyright that everything users can reach has a type; exit code 1 if not.

python -m tools.typed_surface

The exports of `mesh`, `mesh.errors`, `mesh.sync` and `mesh.testing` are checked, with everything that they
lead to. The exit code is 1, too, if pyright reports fewer than 1,000 symbols.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
OF_USERS = ("mesh", "mesh.errors", "mesh.sync", "mesh.testing")


def verified(package: str = "mesh", root: Path = ROOT) -> list[dict[str, Any]]:
    """Return pyright's report on each symbol.

    The wheel of basedpyright contains the runtime that pyright needs.
    """
    command = [sys.executable, "-m", "basedpyright", "--outputjson"]
    # Pyright looks for packages beside the first `python` of the PATH.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    result = subprocess.run(
        [*command, "--verifytypes", package, "--ignoreexternal"],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root), "PATH": path},
        capture_output=True,
        text=True,
    )
    symbols: list[dict[str, Any]] = json.loads(result.stdout)["typeCompleteness"]["symbols"]
    return symbols


def unknown(symbols: list[dict[str, Any]], modules: tuple[str, ...] = OF_USERS) -> list[str]:
    """Return the exported names whose type is unknown, or leads to an unknown type."""
    names = [it["name"] for it in symbols if not it["isTypeKnown"]]
    return [name for name in names if name.rpartition(".")[0] in modules]


def main() -> int:
    symbols = verified()
    found = unknown(symbols)
    for name in found:
        print(f"{name} leads to something whose type is not known")
    if found:
        print(
            f"To see where: PYTHONPATH=. .venv/bin/basedpyright --verifytypes {OF_USERS[0]} --ignoreexternal"
        )
    return bool(found or len(symbols) < 1000)


if __name__ == "__main__":
    sys.exit(main())
