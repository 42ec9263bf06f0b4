"""The network interfaces on which a node advertises itself and listens."""

from dataclasses import replace
from itertools import pairwise

import pytest

from mesh.discovery.interfaces import (
    PAUSE,
    SETTLED,
    Interface,
    InterfaceChanges,
    advertised,
    fit,
    mdns_interfaces,
)

LO = Interface("lo", ("127.0.0.1", "::1"), is_up=True, has_multicast=False)
ETH = Interface("eth0", ("10.0.0.5", "fd00::5", "fe80::5%eth0"), is_up=True, has_multicast=True)
WLAN = Interface("wlan0", ("192.168.1.5", "fe80::6%wlan0"), is_up=True, has_multicast=True)
UNPLUGGED = Interface("eth1", ("10.0.1.5",), is_up=False, has_multicast=True)
DOCKER = Interface("docker0", ("172.17.0.1",), is_up=True, has_multicast=True)
TAILSCALE = Interface("tailscale0", ("100.64.0.5",), is_up=True, has_multicast=False)
ALL = [LO, ETH, WLAN, UNPLUGGED, DOCKER, TAILSCALE]


def names(found: list[Interface], *patterns: str) -> list[str]:
    return [interface.name for interface in fit(found, patterns)[0]]


def test_without_patterns_all_are_taken_that_lead_to_other_machines() -> None:
    assert names(ALL) == ["eth0", "wlan0"]


def test_of_each_other_one_the_reason_is_told() -> None:
    odd = replace(ETH, name="odd", has_multicast=False)
    assert fit([*ALL, Interface("eth2", (), True, True), odd])[1] == [
        ("lo", "loopback"),
        ("eth1", "down, or no cable"),
        ("docker0", "container bridge"),
        ("tailscale0", "tunnel"),
        ("eth2", "no address"),
        ("odd", "no multicast"),
    ]
    assert ("wlan0", "not in discovery.interfaces") in fit(ALL, ["eth*"])[1]
    assert ("wlan0", "excluded by discovery.interfaces") in fit(ALL, ["!wlan0"])[1]


@pytest.mark.parametrize(
    "name", ["docker0", "br-1a2b", "veth12", "virbr0", "tun0", "tap1", "wg0", "tailscale0", "zt5u4"]
)
def test_container_bridges_and_tunnels_are_taken_only_when_named(name: str) -> None:
    odd = replace(ETH, name=name)
    assert names([odd]) == []
    assert names([odd], "!eth9") == []
    assert names([odd], name) == [name]


def test_a_bridge_of_the_lan_is_no_container_bridge() -> None:
    assert names([replace(ETH, name="br0")]) == ["br0"]


def test_patterns_choose_and_exclude() -> None:
    assert names(ALL, "eth*") == ["eth0"]
    assert names(ALL, "!wlan*") == ["eth0"]
    assert names(ALL, "*", "!eth0") == ["wlan0", "docker0"]
    assert names(ALL, "eth1") == []


def test_a_concrete_address_is_advertised_as_such() -> None:
    assert advertised("tcp://10.0.0.5:7710", ALL) == ("10.0.0.5",)
    assert advertised("tcp://[fd00::5]:7710", ALL) == ("fd00::5",)
    assert advertised("tcp://127.0.0.1:7710", ALL) == ("127.0.0.1",)


def test_for_a_wildcard_the_addresses_of_fit_interfaces_are_advertised_far_ones_first() -> None:
    assert advertised("tcp://[::]:7710", ALL) == (
        "10.0.0.5",
        "fd00::5",
        "192.168.1.5",
        "fe80::5%eth0",
        "fe80::6%wlan0",
    )
    assert advertised("tcp://0.0.0.0:7710", ALL) == ("10.0.0.5", "192.168.1.5")
    assert advertised("tcp://*:7710", ALL, ["wlan0"]) == ("192.168.1.5",)


def test_loopback_is_advertised_only_where_there_is_nothing_else_and_nobody_else_can_hear() -> None:
    alone = [LO, DOCKER]
    assert advertised("tcp://0.0.0.0:7710", alone) == ("127.0.0.1",)
    assert mdns_interfaces("tcp://0.0.0.0:7710", alone) == ("127.0.0.1",)


def test_a_machine_with_many_interfaces_names_some_addresses() -> None:
    many = [replace(ETH, name=f"eth{n}", addresses=(f"10.{n}.0.1", f"fe80::{n}%eth{n}")) for n in range(30)]
    assert advertised("tcp://[::]:7710", many) == tuple(f"10.{n}.0.1" for n in range(8))


def test_a_machine_whose_cable_is_pulled_keeps_its_address_and_speaks_to_itself() -> None:
    unplugged = [LO, replace(ETH, is_up=False), DOCKER]
    assert advertised("tcp://0.0.0.0:7710", unplugged) == ("10.0.0.5",)
    assert mdns_interfaces("tcp://0.0.0.0:7710", unplugged) == ("127.0.0.1",)


@pytest.mark.parametrize("bound", ["tcp://127.0.0.1:7710", "tcp://127.0.0.2:7710", "tcp://[::1]:7710"])
def test_a_node_on_loopback_speaks_on_loopback_only(bound: str) -> None:
    assert mdns_interfaces(bound, ALL) == ("127.0.0.1",)


def test_a_node_on_one_address_speaks_on_its_interface_only() -> None:
    assert mdns_interfaces("tcp://192.168.1.5:7710", ALL) == ("192.168.1.5", "fe80::6%wlan0")
    assert mdns_interfaces("tcp://[fd00::5]:7710", ALL) == ("10.0.0.5", "fe80::5%eth0")
    assert mdns_interfaces("tcp://[fe80::6%wlan0]:7710", ALL) == ("192.168.1.5", "fe80::6%wlan0")
    assert mdns_interfaces("tcp://172.17.0.1:7710", ALL) == ("172.17.0.1",)  # the address is configured


def test_a_node_on_an_address_that_is_away_speaks_nowhere() -> None:
    assert mdns_interfaces("tcp://10.9.9.9:7710", ALL) == ()
    assert mdns_interfaces("tcp://10.0.1.5:7710", ALL) == ()


def test_a_node_on_all_speaks_once_on_each_fit_interface_and_in_both_families() -> None:
    two = replace(ETH, addresses=("10.0.0.5", "10.0.0.6", "fd00::5"))
    assert mdns_interfaces("tcp://0.0.0.0:7710", [LO, two, WLAN, DOCKER]) == (
        "10.0.0.5",
        "fd00::5%eth0",
        "192.168.1.5",
        "fe80::6%wlan0",
    )


def test_a_machine_without_any_interface_speaks_nowhere() -> None:
    assert mdns_interfaces("tcp://0.0.0.0:7710", [replace(LO, is_up=False)]) == ()


def adopted(changes: InterfaceChanges[str], seen: str, start: int) -> list[tuple[float, str]]:
    """Return the times and values of adoptions, when `seen` has the value of each second."""
    moments = ((start + index, letter) for index, letter in enumerate(seen))
    return [(now, changes.adopted) for now, letter in moments if changes.see(letter, now)]


def test_a_change_that_stays_is_adopted_once() -> None:
    assert adopted(InterfaceChanges("a"), "aabbbbbbbbbbbb", 0) == [(2 + SETTLED, "b")]


def test_looked_at_every_three_seconds_a_change_is_adopted_within_ten() -> None:
    changes = InterfaceChanges("a")
    assert not changes.see("b", 3.0)  # changed right after 0.0
    assert changes.see("b", 6.0)


def test_what_comes_and_goes_is_not_adopted() -> None:
    assert adopted(InterfaceChanges("a"), "abbabbabbabbabbaaaaaaa", 0) == []


def test_two_changes_are_not_adopted_at_once() -> None:
    changes = InterfaceChanges("a")
    moments = [now for now, _ in adopted(changes, "bbbbccccddddaaaabbbbccccc", 0)]
    assert len(moments) > 2
    assert all(later - sooner >= PAUSE for sooner, later in pairwise(moments))


def test_going_back_in_time_is_no_change() -> None:
    changes = InterfaceChanges("a")
    changes.see("b", 1.0)
    assert not changes.see("a", 5.0)
    assert not changes.see("a", 50.0)
    assert changes.adopted == "a"


def test_E25_an_address_that_is_given_wins_over_interfaces_that_are_named_and_those_over_what_is_found() -> (
    None
):
    assert advertised("tcp://10.9.9.9:7710", ALL, ["wlan0"]) == ("10.9.9.9",)
    assert advertised("tcp://0.0.0.0:7710", ALL, ["wlan0"]) == ("192.168.1.5",)
    assert advertised("tcp://0.0.0.0:7710", ALL)[0] == "10.0.0.5"
