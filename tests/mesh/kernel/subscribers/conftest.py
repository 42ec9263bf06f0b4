"""Scenarios of sessions that move, in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

import mesh.testing
from tests.mesh.kernel.subscribers.moves import NODES, Moves, Scenario


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch) -> Callable[[Scenario, bool], None]:
    def run(scenario: Scenario, is_ruled: bool = True) -> None:
        async def within() -> None:
            rules = {"ibis": ["NEWS"]} if is_ruled else ""
            async with mesh.testing.Mesh(NODES, rules=rules, clock="virtual") as m:
                moves = Moves(m, monkeypatch)
                async with moves.subscribed():
                    await scenario(moves)

        asyncio.run(within())

    return run
