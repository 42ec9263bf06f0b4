"""The records of long runs."""

import os
from pathlib import Path

from tools.lab_parts import ledger


def test_a_record_is_up_to_date_when_it_was_written_twice(tmp_path: Path) -> None:
    paths = [tmp_path / "said.json", tmp_path / "came.json"]
    ledger.write(paths[0], {})
    is_rewritten = ledger.Rewritten(paths)
    found = []
    for time, path in enumerate([paths[0], paths[1], paths[1], paths[0]], 1):
        ledger.write(path, {"time": time})
        os.utime(path, ns=(time, time))
        found.append(is_rewritten())
    assert found == [False, False, False, True]
