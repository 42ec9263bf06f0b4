"""Fixtures for tests of shared rows."""

import pytest

from tests.simulation import SimNetwork


@pytest.fixture
def net() -> SimNetwork:
    return SimNetwork()
