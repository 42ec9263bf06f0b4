"""The limit of a wait: it counts checks instead of seconds, and grows with the load of the machine."""

import asyncio
import os
import time

import pytest

from tests import waiting


def looks(monkeypatch: pytest.MonkeyPatch, load: float, limit: float) -> int:
    """Return how often `until` checks before it gives up, at this load per processor."""
    monkeypatch.setattr(os, "getloadavg", lambda: (load * (os.cpu_count() or 1), 0.0, 0.0))
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    count = 0

    def never() -> bool:
        nonlocal count
        count += 1
        return False

    with pytest.raises(AssertionError, match="did not become true"):
        waiting.until(never, limit)
    return count


def test_a_limit_grows_with_the_load(monkeypatch: pytest.MonkeyPatch) -> None:
    alone, busy = looks(monkeypatch, 0.1, 1.0), looks(monkeypatch, 3.0, 1.0)
    assert 50 <= alone <= 52 and 3 * alone - 8 <= busy <= 3 * alone + 2


def test_waiting_ends_as_soon_as_the_condition_is_true_also_a_coroutine() -> None:
    async def is_true() -> bool:
        return True

    waiting.until(lambda: True, limit=0.0)
    asyncio.run(waiting.eventually(is_true, limit=0.0))
    with pytest.raises(AssertionError, match="did not become true"):
        asyncio.run(waiting.eventually(lambda: False, limit=0.0))
