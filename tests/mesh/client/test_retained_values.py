"""Reading retained values when nodes do not answer."""

from __future__ import annotations

import asyncio

import pytest

from mesh import sync
from mesh.client.retained_values import _report_missing
from tests.mesh.meshes import in_memory, mesh_of


@pytest.mark.parametrize(
    ("missing", "logged"),
    [
        ([], ""),
        (["b"], "get('k/#') has no values of b, which did not answer in time"),
        (["e", "d", "c", "b", "b"], "has no values of b, c, d and 1 more, which did not answer in time"),
    ],
)
def test_nodes_whose_values_are_missing_are_logged_once(
    missing: list[str], logged: str, caplog: pytest.LogCaptureFixture
) -> None:
    _report_missing("k/#", [({"more": True, "missing": missing}, []), ({"missing": missing[:1]}, [])])
    assert len(caplog.messages) == bool(logged)
    assert all(logged in message for message in caplog.messages)


def test_an_empty_domain_erases_in_every_domain_with_a_warning_for_the_caller() -> None:
    async def scenario() -> None:
        async with in_memory("a") as m, m.connect("a") as client:
            for domain in ("", "D", "E"):
                await client.publish("k", b"1", domain=domain)
            with pytest.warns(DeprecationWarning, match="every domain. Omit domain=") as caught:
                assert await client.erase("k", domain="") == ["k"]
            assert caught[0].filename == __file__
            assert await client.get("k") == []
            assert await client.erase("k") == await client.erase("k", domain="D") == [], "without a warning"

    asyncio.run(scenario())


def test_a_blocking_client_warns_its_caller_once() -> None:
    async def scenario() -> None:
        async with mesh_of("a") as m:
            environ = m.environ
            assert await asyncio.to_thread(blocking, environ) == []

    def blocking(environ: dict[str, str]) -> list[str]:
        with sync.connect("a", environ=environ) as client:
            with pytest.warns(DeprecationWarning, match="Omit domain=") as caught:
                erased = client.erase("k", domain="", timeout=20)
            assert [each.filename for each in caught] == [__file__]
            return erased

    asyncio.run(scenario())
