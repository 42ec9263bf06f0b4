"""Row 34: a TCP connection that breaks within a frame, or stands still."""

import asyncio
import secrets

import pytest

import mesh
from mesh.security.joining import new_mesh
from tests.mesh.rows.traffic import traffic
from tests.mesh.running import RunningNode, state_directory
from tools.lab_parts.proxy import Proxy

# No frame has a multiple of this length, so that each break is at another place of a frame.
BREAKS, ODD = 12, 1013


@pytest.mark.parametrize("reset", [True, False], ids=["reset", "closed"])
def test_row_34_a_stream_that_is_cut_in_its_frames_goes_on_where_it_was(reset: bool) -> None:
    """The client comes through the proxy with keys. Without keys it would refuse an address in between."""

    async def scenario(node: RunningNode) -> None:
        host, _, port = node.tcp.removeprefix("tcp://").rpartition(":")
        async with (
            Proxy(host, int(port)) as proxy,
            mesh.connect(f"tcp://127.0.0.1:{proxy.port}", environ=node.environ, cluster=node.cluster) as far,
            mesh.connect(node.name, environ=node.environ) as near,
        ):
            async with traffic({"far": far, "near": near}, {"far": far, "near": near}, rate=200) as t:
                for number in range(BREAKS):
                    broken, passed = proxy.broken, proxy.passed
                    proxy.break_after(ODD + 97 * number, reset=reset)
                    await t.until(lambda broken=broken: proxy.broken > broken)  # type: ignore[misc]
                    assert proxy.passed > passed
                await t.heard_more()
                await t.settled()
            assert proxy.broken == BREAKS

    with state_directory() as state:
        cluster = f"test-{secrets.token_hex(4)}"
        new_mesh(state, cluster)
        node = RunningNode("heron", state, cluster, ("--bind", "tcp://127.0.0.1:0", "--no-mdns"))
        node.start()
        try:
            asyncio.run(scenario(node))
        finally:
            node.stop()
        assert "Traceback" not in node.log, node.log
