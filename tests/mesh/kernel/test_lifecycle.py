"""A node that stops is awaited by the others, or logs off from those that its configuration names."""

from __future__ import annotations

import asyncio

import pytest

import mesh.testing

LOGS_OFF = "[nodes.heron]\ndisconnect = true\n"


@pytest.mark.parametrize(("config", "kept"), [("", 3), (LOGS_OFF, 0)])
def test_a_node_drops_what_it_keeps_for_one_that_logs_off(config: str, kept: int) -> None:
    async def within() -> None:
        async with mesh.testing.Mesh(["heron", "stork"], rules=config, clock="virtual") as m:
            heron, stork = (m._nodes[name] for name in m.nodes)
            peer = heron.core.parts.peers[stork.core.parts.context.me.uuid]
            async with m.connect("heron", client="pub") as pub, m.connect("stork", client="sub") as sub:
                async with sub.subscribe("k"):
                    stork.stop()
                    await m.pass_time(5)
                    assert bool(peer.exchange.feed.queries) is (kept > 0)
                    for n in range(3):
                        await pub.publish("k", b"%d" % n, persistent=True)
                    await m.pass_time(1)
                    assert peer.exchange.feed.pending == kept
                    m.start("stork")
                    await m.pass_time(20)
                    await pub.publish("k", b"4", persistent=True)
                    await m.pass_time(5)
                    assert peer.exchange.feed.delivered == kept + 1, "it is asked again after the start"

    asyncio.run(within())


def test_what_waited_for_a_node_that_logs_off_is_reported() -> None:
    async def within() -> None:
        async with mesh.testing.Mesh(["heron", "stork"], rules=LOGS_OFF, clock="virtual") as m:
            heron, stork = (m._nodes[name] for name in m.nodes)
            async with m.connect("heron", client="pub") as pub, m.connect("stork", client="sub") as sub:
                async with sub.subscribe("k"):  # which reads nothing
                    await pub.publish("k", b"1", persistent=True)
                    await m.pass_time(1)
                    feed = heron.core.parts.peers[stork.core.parts.context.me.uuid].exchange.feed
                    assert feed.is_owed
                    stork.stop()
                    await m.pass_time(5)
                    assert not feed.is_owed
            rows, _ = heron.core.parts.context.events.events_after(0)
            assert [row for row in rows if "stork logged off: the messages kept for it" in row.text]

    asyncio.run(within())
