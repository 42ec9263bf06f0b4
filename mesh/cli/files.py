"""Which configuration file counts, and where do others of this user lie?"""

import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from mesh.local.user import home_directory

NAME = "mesh.toml"


def config_file(given: str | None, environ: Mapping[str, str] = os.environ) -> Path | None:
    """The one given, else ./mesh.toml, else $XDG_CONFIG_HOME/mesh/mesh.toml; None: every default holds."""
    if given is not None:
        return Path(given)
    return next((path for path in (Path(NAME), config_home(environ) / NAME) if path.is_file()), None)


def config_home(environ: Mapping[str, str]) -> Path:
    """This user's directory for settings: $XDG_CONFIG_HOME/mesh, else ~/.config/mesh."""
    xdg = Path(environ.get("XDG_CONFIG_HOME", ""))
    home = xdg if xdg.is_absolute() else home_directory(environ) / ".config"
    return home / "mesh"


def rewrite(path: Path, text: str) -> None:
    """Have a file say that, whole or not at all; who may read it stays as it was."""
    target = path.resolve()
    content = text.encode()
    number, name = tempfile.mkstemp(prefix=f".{target.name}-", dir=target.parent)
    try:
        with open(number, "wb") as file:
            os.fchmod(number, target.stat().st_mode & 0o7777)
            file.write(content)
            file.flush()
            os.fsync(number)
        os.replace(name, target)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(name)
        raise
