"""Runs some tests of the core also in a mesh of two releases. Each node has the one or the other."""

import pytest

from tests.simulation import SimNode

# Tests of the traffic between nodes: interest, routes, direct messages, values, buffers, and crashes.
SCENARIOS = (
    "asking.test_erasing", "delivery.test_cache", "delivery.test_router", "forwarding.test_deciding",
    "forwarding.test_forwarder", "forwarding.test_forwarder_several_masters", "forwarding.test_tailback",
    "peers.test_dialler", "subscribers.test_datalink_crashes", "subscribers.test_inboxes",
    "test_node_promises",
)  # fmt: skip
MODULES = frozenset(f"tests.mesh.kernel.{scenario}" for scenario in SCENARIOS)
MIXED = ((1, 2), (2, 1))  # newest wire version of each node, in turn


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    is_random = "seed" in metafunc.fixturenames  # see test_node_promises for those
    if metafunc.module.__name__ in MODULES and not is_random:
        metafunc.fixturenames.append("newest")
        whole = pytest.mark.slow
        mixed = [pytest.param(versions, id="{}+{}".format(*versions), marks=whole) for versions in MIXED]
        metafunc.parametrize("newest", [pytest.param((2,), id="2"), *mixed], indirect=True)


@pytest.fixture
def newest(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the newest version of the wire that each node of a simulated mesh speaks."""
    monkeypatch.setattr(SimNode, "newest", request.param)
