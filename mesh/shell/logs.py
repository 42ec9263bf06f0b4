"""The log of a node: formats and levels."""

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
OURS = ("mesh", "discovery")  # roots of all loggers of this project
PRIORITY = {"DEBUG": 7, "INFO": 6, "WARNING": 4, "ERROR": 3, "CRITICAL": 2}  # syslog priorities

# Law: each line of the log was written as a line here. No message content starts another line, moves a
# cursor, or is invalid UTF-8.


class Lines(logging.Formatter):
    """Formats records as text for users, with date and time zone.

    A traceback has several lines.
    """

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
    """Formats records as text for the systemd journal, which adds the time.

    The number in front is the priority.
    """

    def _head(self, record: logging.LogRecord) -> str:
        return f"{record.name}: "

    def _line(self, record: logging.LogRecord) -> str:
        return f"<{PRIORITY.get(record.levelname, 6)}>{{}}"


class JsonLines(logging.Formatter):
    """Formats each record as a JSON object on one line.

    `node` is set once the node has its name.
    """

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
    """Return the local time of a record, with the zone."""
    return datetime.fromtimestamp(record.created).astimezone().isoformat(between, "milliseconds")


def _whole(text: str) -> str:
    """Return the text without lone surrogates, which Python writes as JSON but other parsers reject."""
    return text.encode("utf-8", "backslashreplace").decode()


FORMATS: dict[str, type[logging.Formatter]] = {TEXT: Lines, JSON: JsonLines, JOURNAL: JournalLines}


def formatter(wanted: str, environ: Mapping[str, str], stream: TextIO) -> logging.Formatter:
    """Return the named format.

    AUTO selects the journal format if the stream is the journal, else text.
    """
    if wanted == AUTO:
        wanted = JOURNAL if goes_to_journal(environ, stream) else TEXT
    return FORMATS[wanted]()


def goes_to_journal(environ: Mapping[str, str], stream: TextIO) -> bool:
    """Return whether the stream is the systemd journal, whose device and inode are in JOURNAL_STREAM."""
    try:
        found = os.fstat(stream.fileno())
    except (OSError, ValueError):  # closed, or not a file
        return False
    return environ.get("JOURNAL_STREAM") == f"{found.st_dev}:{found.st_ino}"


def called(how: logging.Formatter, node: str) -> None:
    """Set the node's name for formats that show it."""
    if isinstance(how, JsonLines):
        how.node = node


def write_to(stream: TextIO, how: logging.Formatter) -> None:
    """Write the log of this process to `stream`, without waiting for its reader.

    A stream without a file descriptor is written directly.
    """
    try:
        handler: logging.Handler = LogWriter(stream.fileno())
    except (OSError, ValueError):  # closed, or not a file
        handler = logging.StreamHandler(stream)
    handler.setFormatter(how)
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)


def set_levels(level: str, special: Mapping[str, str]) -> None:
    """Set the level of all loggers, then the levels in `special`, by logger."""
    set_level("", level)
    for logger, its in special.items():
        set_level(logger, its)


def set_level(logger: str, level: str) -> None:
    """Set the lowest level that a logger writes; "" means all loggers."""
    for name in () if logger else LOGGERS:
        logging.getLogger(name).setLevel(logging.NOTSET)
    for name in (logger,) if logger else OURS:
        logging.getLogger(name).setLevel(level.upper())


def levels() -> dict[str, str]:
    """Return the effective level of each logger."""
    return {name: _name(logging.getLogger(name).getEffectiveLevel()) for name in LOGGERS}


def _name(level: int) -> str:
    return logging.getLevelName(level).lower()
