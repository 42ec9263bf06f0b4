"""The log of a node: how a line of it looks, and which of them are written."""

import json
import logging
import os
from collections.abc import Mapping
from datetime import datetime
from typing import TextIO

from mesh.loglevels import LOGGERS
from mesh.printable import harmless
from mesh.shell.logwriter import LogWriter

TEXT, JSON, JOURNAL, AUTO = "text", "json", "journal", "auto"
OURS = ("mesh", "discovery", "balancers")  # above all loggers of this house
PRIORITY = {"DEBUG": 7, "INFO": 6, "WARNING": 4, "ERROR": 3, "CRITICAL": 2}  # as syslog counts

# Law: whatever is in a message, each line of a log is one that was written here: nothing within it begins
#      another one, moves a cursor, or is no UTF-8.


class Lines(logging.Formatter):
    """Text for people, with date and zone. A traceback is several lines."""

    def format(self, record: logging.LogRecord) -> str:
        said = [f"{self._head(record)}{record.getMessage()}"]
        if record.exc_info:
            said += self.formatException(record.exc_info).splitlines()
        return "\n".join(map(self._line(record).format, map(harmless, said)))

    def _head(self, record: logging.LogRecord) -> str:
        return f"{moment(record, ' ')} {record.levelname:<7} {record.name}  "

    def _line(self, record: logging.LogRecord) -> str:
        return "{}"


class JournalLines(Lines):
    """Text for the journal of systemd, which knows the time itself: a number in front says how bad it is."""

    def _head(self, record: logging.LogRecord) -> str:
        return f"{record.name}: "

    def _line(self, record: logging.LogRecord) -> str:
        return f"<{PRIORITY.get(record.levelname, 6)}>{{}}"


class JsonLines(logging.Formatter):
    """One JSON object a line. `node` is told once it has a name."""

    node = ""

    def format(self, record: logging.LogRecord) -> str:
        said: dict[str, object] = {
            "time": moment(record, "T"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "node": self.node,
            "message": _whole(record.getMessage()),
        }
        if record.exc_info:
            said["exception"] = _whole(self.formatException(record.exc_info))
        return json.dumps(said)


def moment(record: logging.LogRecord, between: str) -> str:
    """When it was said, with the zone of this machine."""
    return datetime.fromtimestamp(record.created).astimezone().isoformat(between, "milliseconds")


def _whole(text: str) -> str:
    """The text without halves of letters, which Python writes as JSON, and nobody else reads."""
    return text.encode("utf-8", "backslashreplace").decode()


FORMATS: dict[str, type[logging.Formatter]] = {TEXT: Lines, JSON: JsonLines, JOURNAL: JournalLines}


def formatter(wanted: str, environ: Mapping[str, str], stream: TextIO) -> logging.Formatter:
    """The format of that name; AUTO: that of the journal if what is written goes there, else text."""
    if wanted == AUTO:
        wanted = JOURNAL if goes_to_journal(environ, stream) else TEXT
    return FORMATS[wanted]()


def goes_to_journal(environ: Mapping[str, str], stream: TextIO) -> bool:
    """Has systemd connected it to its journal? It says so in the environment, by device and inode."""
    try:
        found = os.fstat(stream.fileno())
    except (OSError, ValueError):  # closed, or no file at all
        return False
    return environ.get("JOURNAL_STREAM") == f"{found.st_dev}:{found.st_ino}"


def called(how: logging.Formatter, node: str) -> None:
    """From now on lines in that format tell the node's name, where they can."""
    if isinstance(how, JsonLines):
        how.node = node


def write_to(stream: TextIO, how: logging.Formatter) -> None:
    """All that this process logs goes there, in that format; nobody waits for whoever reads a file."""
    try:
        handler: logging.Handler = LogWriter(stream.fileno())
    except (OSError, ValueError):  # closed, or no file at all
        handler = logging.StreamHandler(stream)
    handler.setFormatter(how)
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)


def set_levels(level: str, special: Mapping[str, str]) -> None:
    """That level counts, and others for some loggers."""
    set_level("", level)
    for logger, its in special.items():
        set_level(logger, its)


def set_level(logger: str, level: str) -> None:
    """From now on it writes what has that level, or is worse. "": all of them do."""
    for name in () if logger else LOGGERS:
        logging.getLogger(name).setLevel(logging.NOTSET)
    for name in (logger,) if logger else OURS:
        logging.getLogger(name).setLevel(level.upper())


def levels() -> dict[str, str]:
    """The level that counts for each logger."""
    return {name: _name(logging.getLogger(name).getEffectiveLevel()) for name in LOGGERS}


def _name(level: int) -> str:
    return logging.getLevelName(level).lower()
