"""A real node that hangs up over one envelope: it fails by name, and nothing else is lost."""

import asyncio

import pytest

from mesh.client.content import Prepared
from mesh.core.desk import piecework
from mesh.errors import PublishRefused
from mesh.wire.limits import MIB, PIECE
from tests.mesh.meshes import LIMIT, Mesh, eventually, mesh_of, take

POISON: Prepared = ("poison", b"x", "", 0, b"", -5, "")  # key, content, domain, flags, properties, expires


def test_trial_B1_an_envelope_that_no_node_reads_fails_by_name_and_the_rest_arrives_once() -> None:
    async def story() -> None:
        async with mesh_of("a") as m, m.connect("a") as ma, m.connect("a") as reader:
            async with reader.subscribe(pattern="#") as sub:
                before = [ma.post(f"before/{i}", b"x", domain=str(i % 2)) for i in range(6)]
                bad = ma._post_prepared(POISON)
                after = [ma.post(f"after/{i}", b"x", domain=str(i % 2)) for i in range(6)]
                async with asyncio.timeout(LIMIT):
                    with pytest.raises(PublishRefused, match="hung up over it twice") as caught:
                        await bad
                    assert caught.value.code == "MALFORMED"
                    late = ma.post("late", b"x")
                    for receipt in (*before, *after, late):
                        await receipt
                    await ma.flush()
                keys = [message.key for message in await take(sub, 13)]
                even = [key for key in keys if key[-1] in "024" or key == "late"]
                assert even == [*(f"{w}/{i}" for w in ("before", "after") for i in (0, 2, 4)), "late"]
                assert len(set(keys)) == 13
            assert hang_ups(m) >= 3
            assert ma._core.line._dials <= 1 + 3

    asyncio.run(story())


def test_trial_B2_what_finds_no_room_is_no_fault_of_the_envelope(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        async with mesh_of("a", settings={"limits.max_content": 4 * MIB}) as m, m.connect("a") as ma:
            with monkeypatch.context() as narrow:
                narrow.setattr(piecework, "TOGETHER", PIECE)
                receipt = asyncio.ensure_future(ma.publish("large", bytes(3 * MIB)))
                await eventually(lambda: hang_ups(m) > 3)
            async with asyncio.timeout(LIMIT):
                assert (await receipt).ok

    asyncio.run(story())


def hang_ups(m: Mesh) -> int:
    return m.metric("a", "malformed")


def test_trial_B1_a_client_that_is_always_refused_backs_off() -> None:
    """Each envelope costs three connections at most, and the time between them grows."""

    async def story() -> None:
        async with mesh_of("a") as m, m.connect("a") as ma:
            receipts = [ma._post_prepared(("poison", b"x", str(i), 0, b"", -5, "")) for i in range(3)]
            async with asyncio.timeout(LIMIT):
                for receipt in receipts:
                    with pytest.raises(PublishRefused):
                        await receipt
                assert (await ma.publish("k", b"x")).ok
            # Not `hang_ups`: what is still under way when the node hangs up counts there as a stranger's.
            assert ma._core.line._dials <= 1 + 1 + 2 * 3
            assert ma._core.line._strikes > 3

    asyncio.run(story())
