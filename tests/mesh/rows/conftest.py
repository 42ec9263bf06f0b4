"""Rows of faults are played on whole nodes."""

import pytest

from tests.conftest import is_quick_part

HERE = "tests/mesh/rows/"
collect_ignore_glob = ["test_*.py"] if is_quick_part() else []  # which would leave them all out


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.nodeid.startswith(HERE):
            item.add_marker(pytest.mark.whole)
