"""Marks all tests of fault rows `slow`, because they run whole nodes."""

import pytest

HERE = "tests/mesh/rows/"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.nodeid.startswith(HERE):
            item.add_marker(pytest.mark.slow)
