"""The lines of a log: one line for each record, in the configured format, whatever the text contains."""

import io
import json
import logging
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from mesh.config import load
from mesh.config.source import parsed
from mesh.errors import BadConfig
from mesh.loglevels import LOGGERS
from mesh.shell.logs import (
    FORMATS,
    JOURNAL,
    JSON,
    OURS,
    TEXT,
    called,
    formatter,
    goes_to_journal,
    levels,
    set_level,
    set_levels,
)

EVIL = 'a"b\\c\n<0>forged\x1b[2J\ud800\u2028\U0001f600'
ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    before = {name: logging.getLogger(name).level for name in (*OURS, *LOGGERS)}
    yield
    for name, level in before.items():
        logging.getLogger(name).setLevel(level)


def record(text: str, level: int = logging.WARNING, fails: bool = False) -> logging.LogRecord:
    error = None
    if fails:
        try:
            raise ValueError(text)
        except ValueError:
            error = sys.exc_info()
    return logging.LogRecord("mesh.events", level, "", 1, "%s", (text,), error)


def test_a_line_of_text_has_date_zone_level_and_logger() -> None:
    line = FORMATS[TEXT]().format(record("joined: swift"))
    when = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d"
    assert re.fullmatch(rf"{when} WARNING mesh\.events  joined: swift", line)


def test_no_message_begins_another_line_of_text() -> None:
    assert len(FORMATS[TEXT]().format(record(EVIL)).splitlines()) == 1


def test_each_line_of_a_traceback_goes_to_the_journal_with_its_priority() -> None:
    lines = FORMATS[JOURNAL]().format(record(EVIL, logging.ERROR, fails=True)).split("\n")
    assert len(lines) > 3 and all(line.startswith("<3>") for line in lines)
    assert not any(line.startswith("<0>") for line in lines) and "\x1b" not in "".join(lines)


@pytest.mark.parametrize("text", [EVIL, "\ud800", "\udcff\x00", "{%s}", ""])
@pytest.mark.parametrize("fails", [True, False])
def test_a_line_of_json_can_be_read_by_a_strict_reader(text: str, fails: bool) -> None:
    how = FORMATS[JSON]()
    called(how, "heron")
    line = how.format(record(text, fails=fails))
    found = msgspec.json.decode(line.encode())  # unlike json.loads it refuses lone surrogates
    assert len(line.splitlines()) == 1 and found["node"] == "heron" and found["level"] == "warning"
    assert found["message"] == text.encode("utf-8", "backslashreplace").decode()
    assert ("exception" in found) is fails


def test_the_journal_is_known_by_what_systemd_says(tmp_path: Path) -> None:
    with (tmp_path / "log").open("w") as file:
        it = os.fstat(file.fileno())
        assert goes_to_journal({"JOURNAL_STREAM": f"{it.st_dev}:{it.st_ino}"}, file)
        assert not goes_to_journal({"JOURNAL_STREAM": "1:1"}, file) and not goes_to_journal({}, file)
        assert isinstance(formatter("auto", {}, file), FORMATS[TEXT])
    assert not goes_to_journal({"JOURNAL_STREAM": "1:1"}, io.StringIO())
    assert not goes_to_journal({"JOURNAL_STREAM": "1:1"}, file)  # the file is closed


def test_one_logger_has_another_level_than_the_rest_and_all_together_end_that() -> None:
    set_levels("warning", {"mesh.routes": "debug"})
    assert levels() == {**dict.fromkeys(LOGGERS, "warning"), "mesh.routes": "debug"}
    assert logging.getLogger("mesh.store.worker").getEffectiveLevel() == logging.WARNING
    set_level("", "error")
    assert levels() == dict.fromkeys(LOGGERS, "error")


def test_levels_of_others_libraries_are_left_alone() -> None:
    before = logging.getLogger().level, logging.getLogger("asyncio").level
    set_level("", "debug")
    assert (logging.getLogger().level, logging.getLogger("asyncio").level) == before


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[log]\nlevel = "loud"', "log.level"),
        ('[log]\nformat = "xml"', "log.format"),
        ('[log.levels]\n"mesh.rutes" = "debug"', "The logger 'mesh.rutes' does not exist"),
        ('[log.levels]\n"" = "debug"', "The logger .* does not exist"),
        ('[log.levels]\n"mesh.routes" = "DEBUG"', "The level 'DEBUG' does not exist"),
    ],
)
def test_settings_of_the_log_that_are_not_there_are_refused(text: str, said: str) -> None:
    with pytest.raises(BadConfig, match=said):
        load(parsed(Path("mesh.toml"), text), {}, {})


def test_every_logger_of_the_house_is_one_of_the_table_or_below_one() -> None:
    source = [path for room in OURS for path in (ROOT / room).rglob("*.py")]
    found = {name for path in source for name in re.findall(r'getLogger\("([\w.]+)"\)', path.read_text())}
    own = {
        str(path.relative_to(ROOT).with_suffix("")).replace("/", ".")
        for path in source
        if "getLogger(__name__)" in path.read_text()
    }
    ours = {name for name in found | own if name.partition(".")[0] in OURS} - {"mesh.testing"}
    assert len(ours) > 5
    assert [name for name in ours if not any(f"{name}.".startswith(f"{known}.") for known in LOGGERS)] == []


def test_json_of_a_number_in_a_message_is_text() -> None:
    line = FORMATS[JSON]().format(logging.LogRecord("x", logging.INFO, "", 1, "%d of %s", (3, "a"), None))
    assert json.loads(line)["message"] == "3 of a"


def test_the_page_tells_of_each_logger_what_the_table_says() -> None:
    page = (ROOT / "docs" / "monitoring.md").read_text()
    rows = page[page.index("| logger | content |") :].partition("\n\n")[0].splitlines()[2:]
    assert [tuple(row.strip("| ").split(" | ")) for row in rows] == [
        (f"`{name}`", what) for name, what in LOGGERS.items()
    ]
