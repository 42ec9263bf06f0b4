"""Fixtures for tests of changing rules."""

import pytest

from mesh.kernel.forwarding import deferred_entries
from mesh.kernel.rules import ruling
from tests.mesh.kernel.rules.changing import ENDS
from tests.simulation import SimNetwork


@pytest.fixture
def short_periods(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the periods that follow a change of rules, so that less is simulated."""
    monkeypatch.setattr(ruling, "ENDS", ENDS)
    monkeypatch.setattr(deferred_entries, "LATELY", ENDS)


@pytest.fixture
def net() -> SimNetwork:
    return SimNetwork()
