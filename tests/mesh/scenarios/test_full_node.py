"""A node without free sessions: it refuses clients, admits the operator, and lists the refused."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import mesh
from mesh.errors import Refused
from tests.mesh.running import RunningNode, running


@pytest.mark.slow
def test_who_finds_no_session_left_hears_that_and_the_operator_comes_in(tmp_path: Path) -> None:
    file = tmp_path / "mesh.toml"
    file.write_text("[limits]\nsessions = 2\n")
    with running("heron", options=("--config", str(file))) as heron:
        asyncio.run(full(heron))


async def full(heron: RunningNode) -> None:
    def joined(client: str) -> mesh.Client:
        return mesh.connect("heron", client=client, timeout=1.5, environ=heron.environ)

    async with joined("first"), joined("second"):
        with pytest.raises(Refused, match="this node has 2 sessions, and the limit is 2") as refused:
            async with joined("third"):
                pass
        assert refused.value.code == "TOO_MANY_SESSIONS" and "limits.sessions" in refused.value.hint
        said = await asyncio.to_thread(heron.mesh, "why", "client", "third", "--url", "heron")
        assert said.returncode == 1 and "the limit is 2 [TOO_MANY_SESSIONS]" in said.stdout, said
        said = await asyncio.to_thread(heron.mesh, "pub", "a", "b", "--url", "heron")
        assert said.returncode == 2 and "TOO_MANY_SESSIONS" in said.stderr, said
