"""Who runs this process? A name for people: nothing is proved by it."""

import getpass


def user_name() -> str:
    """The name of this process's user; "" where the system has none for it, as in many containers."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""
