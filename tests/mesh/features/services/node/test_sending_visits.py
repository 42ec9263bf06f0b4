"""Requests to services whose session has moved to another node."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import mesh.testing
from mesh.testing import mesh as testing


def test_the_reply_of_a_visiting_service_reaches_requesters_at_all_nodes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def within() -> None:
        async with mesh.testing.Mesh(["heron", "stork"], clock="virtual") as m:
            async with m.connect("heron", client="ann") as ann, ann.serve("calc") as service:
                serving = asyncio.create_task(_serve(service))
                find = testing.Inhabited.find
                monkeypatch.setattr(testing.Inhabited, "find", lambda place, _: find(place, "stork"))
                ann._shell.core.line.lose("moved by the test")
                await m.pass_time(20)
                assert ann._shell.core.line.home == "stork"
                monkeypatch.undo()
                for node in ("heron", "stork"):
                    async with m.connect(node) as asker:
                        asked = asyncio.create_task(asker.request("calc", b"1"))
                        await m.pass_time(1)
                        assert asked.done() and asked.result().content == b"1", node
                serving.cancel()

    asyncio.run(within())


async def _serve(service: Any) -> None:
    async for request in service:
        await request.reply(request.content)
