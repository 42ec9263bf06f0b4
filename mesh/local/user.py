"""Who runs this process, and where is that user at home? For people and defaults: nothing is proved by it."""

import getpass
from collections.abc import Mapping
from pathlib import Path


def user_name() -> str:
    """The name of this process's user; "" where the system has none for it, as in many containers."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""


def home_directory(environ: Mapping[str, str]) -> Path:
    """$HOME, else what the system says. A user whom it does not know gets "/", as container runtimes do."""
    try:
        return Path(environ.get("HOME") or Path.home())
    except RuntimeError:
        return Path("/")
