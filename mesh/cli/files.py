"""Finds the configuration file and other files of this user, and rewrites them."""

import os
import stat
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from mesh.errors import BadConfig
from mesh.local.user import home_directory

NAME = "mesh.toml"


def config_file(given: str | None, environ: Mapping[str, str] = os.environ) -> Path | None:
    """Return the given path; else ./mesh.toml or $XDG_CONFIG_HOME/mesh/mesh.toml, the first that exists.

    `None` means that there is no file. Raises: BadConfig if ./mesh.toml belongs to another user than root, or
    every user can write it, for example in /tmp.
    """
    if given is not None:
        return Path(given)
    here = Path(NAME)
    if here.is_file():
        _check_trusted(here)
        return here
    own = config_home(environ) / NAME
    return own if own.is_file() else None


def _check_trusted(path: Path) -> None:
    for found in (path.lstat(), path.stat()):  # a link and its target
        if why := distrust(found.st_uid, found.st_mode, os.geteuid()):
            raise BadConfig(
                f"{path.absolute()} {why}, so it is not read automatically.",
                hint=f"If you trust it, name it: --config {NAME} (for `mesh config`: the argument {NAME}). "
                "Otherwise run the command in another directory.",
                code="FOREIGN_CONFIG",
            )


def distrust(owner: int, mode: int, user: int) -> str:
    """Return why a file that the user did not name must not be trusted, or "".

    Root owns the machine, so its files are as good as the user's own.
    """
    if owner not in (user, 0):
        return f"belongs to user {owner}, not to you ({user})"
    if mode & stat.S_IWOTH and not stat.S_ISLNK(mode):  # a link always has all rights, without effect
        return f"can be written by every user (mode {stat.S_IMODE(mode):o})"
    return ""


def config_home(environ: Mapping[str, str]) -> Path:
    """Return this user's directory for settings: $XDG_CONFIG_HOME/mesh, else ~/.config/mesh."""
    xdg = Path(environ.get("XDG_CONFIG_HOME", ""))
    home = xdg if xdg.is_absolute() else home_directory(environ) / ".config"
    return home / "mesh"


def rewrite(path: Path, text: str) -> None:
    """Replace the content of a file atomically, and keep its permissions."""
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
