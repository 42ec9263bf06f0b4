"""The limits of the addresses at which a node listens."""

import pytest

from mesh.config import Config, Limits, load
from mesh.config.sections import NodeSettings
from mesh.errors import BadConfig, BindRefused
from mesh.shell.binding import limits_of
from mesh.shell.settings import max_connections

GIVEN = ("127.0.0.1:7710", "tcp://127.0.0.2:*", "tcp://*:7711")
BOUND = ("tcp://127.0.0.1:7710", "tcp://127.0.0.2:40123", "tcp://0.0.0.0:7711")


def test_a_limit_is_that_of_the_bound_address_however_it_is_written() -> None:
    most = {"tcp://127.0.0.1:7710": 5, "127.0.0.2:0": 6, "tcp://*:7711": 7}
    assert limits_of(GIVEN, most, BOUND) == dict(zip(BOUND, (5, 6, 7), strict=True))
    assert limits_of(GIVEN, {"tcp://localhost:7710": 5}, BOUND) == {BOUND[0]: 5}
    assert limits_of(GIVEN, {}, BOUND) == {}


def test_a_limit_of_another_address_is_a_mistake_and_names_it() -> None:
    with pytest.raises(BadConfig, match=r"tcp://127.0.0.1:7799 is no address of node\.bind"):
        limits_of(GIVEN, {"tcp://127.0.0.1:7799": 5})
    with pytest.raises(BadConfig, match="is no address"):
        limits_of((), {"tcp://127.0.0.1:7710": 5}, ("tcp://127.0.0.1:40123",))
    with pytest.raises(BindRefused, match=r"node\.address_max_connections"):
        limits_of(GIVEN, {"here": 5})


@pytest.mark.parametrize(("connections", "most"), [(4096, 3840), (160, 150), (100, 92), (12, 4), (1, 1)])
def test_without_a_limit_of_its_own_a_node_leaves_room_for_operators_and_nodes(
    connections: int, most: int
) -> None:
    assert max_connections(Config(limits=Limits(connections=connections))) == most
    assert max_connections(Config(node=NodeSettings(max_connections=9))) == 9


def test_limits_of_addresses_come_from_the_environment_too() -> None:
    environ = {"MESH_NODE__ADDRESS_MAX_CONNECTIONS": "tcp://127.0.0.1:7710=5, 127.0.0.1:7711=6"}
    found = load(None, environ, {}).node.address_max_connections
    assert found == {"tcp://127.0.0.1:7710": 5, "127.0.0.1:7711": 6}
    for wrong in ("tcp://127.0.0.1:7710=0", "tcp://127.0.0.1:7710=x", "5"):
        with pytest.raises(BadConfig):
            load(None, {"MESH_NODE__ADDRESS_MAX_CONNECTIONS": wrong}, {})
