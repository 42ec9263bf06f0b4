"""The selection of the tests that a run executes.

`pytest` without a path and without `-m` runs the quick set, as `tools/check` does. `pytest PATH` runs all
tests there, so `pytest tests` runs everything.
"""

import re
from pathlib import Path

import pytest

QUICK = "smoke or not (slow or spark or browser)"
SLOW_FOLDERS = ("rows", "scenarios")  # their conftest marks all their tests slow
is_quick_run = False  # for tests that are shorter in the quick set
SLOW_FILE = re.compile(r"^pytestmark = .*\bpytest\.mark\.(slow|spark|browser)\b", re.MULTILINE)


def select(config: pytest.Config) -> None:
    """Select the quick set, unless the command line selects tests."""
    names_paths = config.args_source is pytest.Config.ArgsSource.ARGS
    if not config.option.markexpr and not names_paths:
        config.option.markexpr = QUICK
    global is_quick_run
    is_quick_run = is_quick(config)


def is_quick(config: pytest.Config) -> bool:
    """Return whether this run is the quick set."""
    return bool(config.option.markexpr == QUICK)


def is_left_out(file: Path) -> bool:
    """Return whether the quick set has no test of `file`, so that it need not import Spark, for example."""
    if not file.match("test_*.py"):
        return False
    text = file.read_text()
    is_slow = file.parent.name in SLOW_FOLDERS or SLOW_FILE.search(text)
    return bool(is_slow) and "mark.smoke" not in text
