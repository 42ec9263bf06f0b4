"""The controlling terminal of this process, whose closing sends SIGHUP."""

import logging
import os
import signal

STAYS = "settings are read when the node starts: stop it and start it again"
log = logging.getLogger("mesh.node")


def has_terminal() -> bool:
    """Return whether this process has a controlling terminal.

    A service or a child of setsid has none.
    """
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return False
    return True


def stay_at_hangup() -> None:
    """Log SIGHUP instead of ending, unless it is ignored already, as under nohup."""
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        signal.signal(signal.SIGHUP, lambda number, frame: log.warning("SIGHUP: %s", STAYS))
