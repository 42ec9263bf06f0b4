"""Was this process started in a terminal, which takes it along when it is closed?"""

import logging
import os
import signal

STAYS = "the settings are read when the node starts: to apply others, stop it and start it again"
log = logging.getLogger("mesh.node")


def has_terminal() -> bool:
    """Has it a controlling terminal? A service has none, nor has what was started by setsid."""
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return False
    return True


def stay_at_hangup() -> None:
    """SIGHUP is not meant to end this process, unless it is ignored already, as under nohup."""
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        signal.signal(signal.SIGHUP, lambda number, frame: log.warning("SIGHUP: %s", STAYS))
