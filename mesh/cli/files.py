"""Which configuration file counts, and where do others of this user lie?"""

import os
from collections.abc import Mapping
from pathlib import Path

NAME = "mesh.toml"


def config_file(given: str | None, environ: Mapping[str, str] = os.environ) -> Path | None:
    """The one given, else ./mesh.toml, else $XDG_CONFIG_HOME/mesh/mesh.toml; None: every default holds."""
    if given is not None:
        return Path(given)
    return next((path for path in (Path(NAME), config_home(environ) / NAME) if path.is_file()), None)


def config_home(environ: Mapping[str, str]) -> Path:
    """This user's directory for settings: $XDG_CONFIG_HOME/mesh, else ~/.config/mesh."""
    xdg = Path(environ.get("XDG_CONFIG_HOME", ""))
    home = xdg if xdg.is_absolute() else Path(environ.get("HOME") or Path.home()) / ".config"
    return home / "mesh"
