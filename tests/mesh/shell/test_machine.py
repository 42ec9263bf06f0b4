"""The network interfaces of a machine, as a node finds them."""

import json
import sys
from pathlib import Path

import pytest

from mesh.shell.machine import interfaces
from tests.netlab import NetLab, require

HERE = Path(__file__).parents[3]
SHOW = f"""
import json, sys
sys.path.insert(0, {str(HERE)!r})
from mesh.shell.machine import interfaces
print(json.dumps({{i.name: [i.addresses, i.is_up, i.has_multicast] for i in interfaces()}}))
"""


def test_loopback_is_there_up_and_without_multicast() -> None:
    (loopback,) = (interface for interface in interfaces() if "127.0.0.1" in interface.addresses)
    assert loopback.is_up
    assert not loopback.has_multicast


@pytest.mark.slow
def test_a_pulled_cable_a_dead_interface_and_addresses_are_seen() -> None:
    require()
    with NetLab(1, dead=1) as lab:
        argv = [sys.executable, "-c", SHOW]
        seen = json.loads(lab.output(1, argv))
        addresses, is_up, has_multicast = seen["eth0"]
        assert addresses[0] == "10.99.0.1"
        assert all(address.endswith("%eth0") for address in addresses[1:])  # link-local addresses
        assert (is_up, has_multicast) == (True, True)
        assert seen["eth1"] == [["10.1.1.1"], False, True]
        lab.cut(1)
        assert json.loads(lab.output(1, argv))["eth0"][1] is False
