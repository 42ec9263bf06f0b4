"""The name and home directory of this process's user, for display and defaults. They prove nothing."""

import getpass
from collections.abc import Mapping
from pathlib import Path


def user_name() -> str:
    """Return the name of this process's user, or "" if the system has none, as in many containers."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""


def home_directory(environ: Mapping[str, str]) -> Path:
    """Return $HOME, else the home directory in the user database, else "/", as container runtimes do."""
    try:
        return Path(environ.get("HOME") or Path.home())
    except RuntimeError:
        return Path("/")
