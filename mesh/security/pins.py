"""Pinned keys of nodes: the key that each had when this user's clients first met it.

There is one file for each node of a mesh with keys, `<state>/pins/<cluster>/<node>.key`: its public Ed25519
key, in hex.
"""

from __future__ import annotations

from pathlib import Path

from mesh.errors import DataDirRefused
from mesh.local.private import make_private, private_directory, read_private

KEY_HEX = 64  # letters
_OTHERS = "Set MESH_STATE_DIR to a directory that you own."


class Pins:
    """The pinned keys of one mesh. Errors of the disk are ignored: a client needs no disk."""

    def __init__(self, state: Path, cluster: str) -> None:
        self._directory = state / "pins" / cluster

    def pin_key(self, name: str, key: bytes) -> tuple[str, str]:
        """Pin the key of a node at first contact.

        Return (problem, advice) if another key is pinned; that key stays pinned. Otherwise, or if the pinned
        key cannot be read, return two empty texts.
        """
        path = self._directory / f"{name}.key"
        try:
            private_directory(self._directory.parent, _OTHERS)
            private_directory(self._directory, _OTHERS)
            if not path.exists():
                make_private(path, key.hex().encode())
            known = read_private(path, KEY_HEX + 1, _OTHERS)
        except (DataDirRefused, OSError):
            return "", ""
        if known.decode(errors="replace") == key.hex():
            return "", ""
        return (
            f"{name} has another key than at first contact",
            f"If its keys were recreated on purpose, run here: mesh peer rm {name}. If not, "
            "another process may answer there: ask its operator, and restore its keys.json "
            "from a copy.",
        )


def forget(state: Path, name: str) -> bool:
    """Forget the pinned keys of a node in all meshes, and return whether there were any."""
    paths = [path for path in (state / "pins").glob("*/*.key") if path.name == f"{name}.key"]
    for path in paths:
        path.unlink(missing_ok=True)
    return bool(paths)
