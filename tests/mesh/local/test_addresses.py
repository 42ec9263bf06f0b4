"""The addresses to which a node may bind, and the meaning of each form."""

import pytest

from mesh.errors import BindRefused
from mesh.local.addresses import (
    DEFAULT_BIND,
    KEYED_BINDS,
    check_bind,
    is_loopback,
    is_wildcard,
    normal,
    with_port,
)

WILDCARDS = ["tcp://*:7710", "tcp://0.0.0.0:7710", "tcp://[::]:7710"]
LOOPBACK = ["tcp://127.0.0.1:0", "tcp://127.8.8.8:1", "tcp://[::1]:7710"]
OPEN = [
    *WILDCARDS,
    "tcp://192.0.2.1:7710",
    "tcp://[2001:db8::1]:1",
    "tcp://[fe80::1%eth0]:1",
    "tcp://heron:1",
]


@pytest.mark.parametrize("address", WILDCARDS)
def test_a_wildcard_is_known_however_it_is_written(address: str) -> None:
    assert is_wildcard(address)
    assert normal(address) == address
    assert normal(address.removeprefix("tcp://")) == address


@pytest.mark.parametrize("address", [*LOOPBACK, *OPEN[3:]])
def test_any_other_address_is_none(address: str) -> None:
    assert not is_wildcard(address)


@pytest.mark.parametrize("address", LOOPBACK)
def test_what_only_this_machine_reaches_may_be_bound_without_keys(address: str) -> None:
    assert is_loopback(address)
    assert check_bind(address, has_keys=False) == address


@pytest.mark.parametrize("address", OPEN)
def test_everything_else_wants_keys_and_says_how_to_make_them(address: str) -> None:
    assert not is_loopback(address)
    assert check_bind(address, has_keys=True) == address
    with pytest.raises(BindRefused, match=r"mesh init.*mesh join") as refused:
        check_bind(address, has_keys=False)
    assert refused.value.code == "BIND_WITHOUT_KEYS"


def test_the_defaults_may_be_bound() -> None:
    assert check_bind(normal(DEFAULT_BIND), has_keys=False) == DEFAULT_BIND
    assert [check_bind(normal(address), has_keys=True) for address in KEYED_BINDS] == list(KEYED_BINDS)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("10.99.0.1", "tcp://10.99.0.1:7710"),
        ("tcp://10.99.0.1", "tcp://10.99.0.1:7710"),
        ("tcp://nas", "tcp://nas:7710"),
        ("nas.example.com:1", "tcp://nas.example.com:1"),
        ("tcp://2001:db8::5", "tcp://[2001:db8::5]:7710"),
    ],
)
def test_an_address_without_a_port_has_that_of_a_node_with_keys(text: str, address: str) -> None:
    assert with_port(text) == address


def test_what_is_no_host_has_no_port_either() -> None:
    with pytest.raises(BindRefused):
        with_port("a b:c:d")
