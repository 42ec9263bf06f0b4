"""Do users see a type in all that they can reach? Asks pyright; exit code 1 where something has none.

python -m tools.typed_surface

What `mesh`, `mesh.errors`, `mesh.sync` and `mesh.testing` export counts, with all that is reached from there.
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
    """What pyright says of each symbol. Its wheel brings all that it runs in."""
    command = [sys.executable, "-m", "basedpyright", "--outputjson"]
    # It looks for what is installed where the first `python` of the PATH does.
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
    """Exported names behind which there is something without a type, or that has none itself."""
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
