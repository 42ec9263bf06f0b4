"""Addresses that a node can dial, and the setting that names one."""

import pytest

from mesh.dialable import check_advertised, is_dialable, is_of_link
from mesh.errors import BadConfig
from tests.each import each


@each("address", ["tcp://10.0.0.5:1", "tcp://127.0.0.1:65535", "tcp://[::1]:1", "tcp://[fe80::1%eth0]:7"])
def test_an_ip_address_with_a_port_can_be_dialed(address: str) -> None:
    assert is_dialable(address)


@each(
    "address",
    [
        *["", "tcp://0.0.0.0:1", "tcp://[::]:1", "tcp://*:1", "tcp://10.0.0.5:0", "tcp://10.0.0.5:65536"],
        *[
            "tcp://nas:1",
            "ipc:///run/x",
            "tcp://10.0.0.5",
            "tcp://10.0.0.5:-1",
            "tcp://1.2.3.4.5:1",
            "1.2.3.4:1",
        ],
    ],
)
def test_a_wildcard_a_name_and_port_0_cannot_be_dialed(address: str) -> None:
    assert not is_dialable(address)


def test_link_local_addresses() -> None:
    assert is_of_link("tcp://[fe80::1%eth0]:7") and not is_of_link("tcp://10.0.0.5:1")


@each(
    "text",
    ["10.0.0.5", "10.0.0.5:17710", "tcp://10.0.0.5:1", "2001:db8::5", "[2001:db8::5]:1", "127.0.0.1:9"],
)
def test_the_setting_is_an_ip_address_with_or_without_a_port(text: str) -> None:
    assert check_advertised(text) == text


@each(
    "text",
    [
        "",
        "*",
        "0.0.0.0",
        "::",
        "nas.example.com",
        "10.0.0.5:0",
        "10.0.0.5:99999",
        "224.0.0.1",
        "ff02::1",
        "255.255.255.255",
        "nan",
        "x" * 999,
    ],
)
def test_any_other_setting_is_refused_with_the_form_to_write(text: str) -> None:
    with pytest.raises(BadConfig) as error:
        check_advertised(text)
    assert "not an address that other nodes can dial" in error.value.what
    assert "10.0.0.5, or 203.0.113.7:7710" in error.value.hint
