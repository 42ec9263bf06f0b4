"""The choice of the addresses that a node advertises."""

from typing import NamedTuple

from mesh.discovery.advertised import Wish, choose_addresses, completed, is_loopback, is_usable_hint
from mesh.discovery.interfaces import Interface, host_of
from tests.each import each

LO = Interface("lo", ("127.0.0.1", "::1"), is_up=True, has_multicast=False)
ETH = Interface("eth0", ("10.0.0.5",), is_up=True, has_multicast=True)
ALL = (LO, ETH)
ANY, LOCAL = ("tcp://*:7710",), ("tcp://127.0.0.1:7710",)
OWN = "tcp://10.0.0.5:7710"


class Case(NamedTuple):
    """The input of a node, and the addresses that it advertises."""

    wish: Wish
    addresses: tuple[str, ...]
    bound: tuple[str, ...] = ANY
    found: tuple[Interface, ...] = ALL


CASES = (
    Case(Wish(), (OWN,)),
    # E25: the order of setting, public hint, hint and interfaces
    Case(Wish(host="10.0.0.9"), ("tcp://10.0.0.9:7710", OWN)),
    Case(Wish(public="203.0.113.7", host="10.0.0.9"), ("tcp://203.0.113.7:7710", OWN)),
    Case(Wish("192.0.2.1", "203.0.113.7", "10.0.0.9"), ("tcp://192.0.2.1:7710",)),
    Case(Wish("192.0.2.1:17710"), ("tcp://192.0.2.1:17710",)),
    Case(Wish("2001:db8::5"), ("tcp://[2001:db8::5]:7710",)),
    Case(Wish("[2001:db8::5]:1"), ("tcp://[2001:db8::5]:1",)),
    # a setting may name the loopback end of a tunnel, a hint may not
    Case(Wish("127.0.0.1:9000"), ("tcp://127.0.0.1:9000",)),
    Case(Wish(public="127.0.0.1", host="10.0.0.9"), ("tcp://10.0.0.9:7710", OWN)),
    Case(Wish(public="0.0.0.0"), (OWN,)),
    Case(Wish(public="heron.example.com", host="*:7710"), (OWN,)),
    Case(Wish(host="10.0.0.5"), (OWN,)),  # not twice
    # the forms of an address in files of nodes
    Case(Wish(host="socket://10.0.0.9:7607"), ("tcp://10.0.0.9:7607", OWN)),
    # a node on loopback only cannot be dialed from elsewhere, whatever a hint says
    Case(Wish(public="203.0.113.7", host="10.0.0.9"), LOCAL, LOCAL),
    Case(Wish(public="203.0.113.7"), LOCAL, ANY, (LO,)),
    Case(Wish("203.0.113.7"), ("tcp://203.0.113.7:7710",), LOCAL),
    # several bound addresses
    Case(Wish(), (OWN, "tcp://127.0.0.1:7711"), (*ANY, "tcp://127.0.0.1:7711")),
    Case(Wish(host="10.0.0.9"), ("tcp://10.0.0.9:7710", OWN), ("tcp://10.0.0.5:7710",)),
)


@each("case", CASES, str)
def test_E25_the_setting_wins_over_the_public_hint_which_wins_over_the_hint(case: Case) -> None:
    assert choose_addresses(case.wish, case.bound, case.found) == case.addresses


def test_there_are_at_most_nine_addresses_and_a_hint_is_among_them() -> None:
    many = [Interface(f"eth{n}", (f"10.{n}.0.1",), is_up=True, has_multicast=True) for n in range(20)]
    chosen = choose_addresses(Wish(public="203.0.113.7"), ["tcp://*:1", "tcp://*:2"], many)
    assert (len(chosen), chosen[:2]) == (9, ("tcp://203.0.113.7:1", "tcp://10.0.0.1:1"))


@each(
    "text",
    [
        *["", "*", "0.0.0.0", "[::]:1", "::", "127.0.0.2", "::1", "[::ffff:127.0.0.1]:1", "239.1.2.3"],
        *["10.0.0.5:0", "10.0.0.5:65536", "10.0.0.5:-1", "10.0.0.5:", "10.0.0.5:1e3", f"10.0.0.5:{2**63}"],
        *[
            "10.0.0.5:\u0661",
            "nas",
            "nan",
            "10.0.0",
            "tcp://",
            ":7710",
            "[10.0.0.5:1",
            "10.0.0.5\x00",
            "ff02::1",
        ],
    ],
)
def test_a_hint_that_no_other_machine_can_dial_is_not_used(text: str) -> None:
    assert not is_usable_hint(text)


def test_the_parts_of_an_address() -> None:
    assert completed(" 10.0.0.5 ", "7710") == "tcp://10.0.0.5:7710"
    assert completed("fe80::1%eth0", "1") == "tcp://[fe80::1%eth0]:1"
    assert host_of("tcp://[fe80::1%eth0]:1") == "fe80::1%eth0"
    assert is_loopback("tcp://127.9.9.9:1") and is_loopback("tcp://[::1]:1")
    assert not is_loopback("tcp://10.0.0.5:1") and not is_loopback("")
