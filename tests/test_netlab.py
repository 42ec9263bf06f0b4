"""The lab of network namespaces: it cuts the configured connections only, and leaves nothing behind."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.netlab import NetLab, Refused, require
from tests.waiting import until

pytestmark = pytest.mark.slow

# A host that answers each datagram to its address or to a multicast group.
LISTENER = """
import socket, sys
own = sys.argv[1]
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("", 5000))
group = socket.inet_aton("224.0.0.77") + socket.inet_aton(own)
s.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, group)
print("ready", flush=True)
while True:
    text, sender = s.recvfrom(100)
    s.sendto(text, sender)
"""
# Prints the address of each host that answers a datagram, until none has answered for 0.2 s.
ASKER = """
import socket, sys
own, *others = sys.argv[1:]
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind((own, 0))
s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(own))
s.settimeout(0.2)
for other in others:
    s.sendto(b"?", (other, 5000))
try:
    while True:
        print(s.recvfrom(100)[1][0])
except OSError:
    pass
"""


@pytest.fixture(params=["bridge", "switch"])
def lab(request: pytest.FixtureRequest) -> Iterator[NetLab]:
    require()
    with NetLab(3, switch=request.param == "switch") as lab:
        for host in lab.hosts:
            listener = lab.run(
                host, [sys.executable, "-c", LISTENER, lab.address(host)], stdout=subprocess.PIPE, text=True
            )
            assert listener.stdout is not None
            assert listener.stdout.readline() == "ready\n"
        yield lab


def answers(lab: NetLab, host: int, *asked: str) -> set[int]:
    """Return the other hosts that answer a datagram to these addresses."""
    heard = lab.output(host, [sys.executable, "-c", ASKER, lab.address(host), *asked]).split()
    return {n for n in lab.hosts if n != host and lab.address(n) in heard}


def reaches(lab: NetLab, host: int) -> set[int]:
    """Return the other hosts that `host` reaches."""
    return answers(lab, host, *(lab.address(n) for n in lab.hosts if n != host))


def heard_by(lab: NetLab, host: int) -> set[int]:
    """Return the other hosts that receive the multicast of `host`."""
    return answers(lab, host, "224.0.0.77")


def test_all_hosts_reach_each_other_by_address_and_by_multicast(lab: NetLab) -> None:
    for host in lab.hosts:
        others = set(lab.hosts) - {host}
        until(lambda host=host, others=others: reaches(lab, host) == others)  # type: ignore[misc]
        until(lambda host=host, others=others: heard_by(lab, host) == others)  # type: ignore[misc]


def test_a_host_whose_cable_is_pulled_is_alone_until_it_is_plugged_in(lab: NetLab) -> None:
    lab.cut(1)
    assert reaches(lab, 1) == set()
    until(lambda: reaches(lab, 2) == {3})
    lab.heal(1)
    until(lambda: reaches(lab, 1) == {2, 3})


def test_groups_that_are_split_reach_only_their_own_and_all_after_joining(lab: NetLab) -> None:
    lab.split([1], [2, 3])
    assert reaches(lab, 1) == heard_by(lab, 1) == set()
    until(lambda: reaches(lab, 2) == heard_by(lab, 2) == {3})
    assert "LOWER_UP" in lab.output(1, ["ip", "link", "show", "eth0"])  # the host sees no change
    lab.join()
    until(lambda: reaches(lab, 1) == {2, 3})
    until(lambda: heard_by(lab, 1) == {2, 3})


def test_two_that_are_parted_still_reach_the_third(lab: NetLab) -> None:
    lab.part(1, 2)
    until(lambda: reaches(lab, 1) == heard_by(lab, 1) == {3})
    until(lambda: reaches(lab, 3) == {1, 2})
    lab.join()
    until(lambda: reaches(lab, 1) == {2, 3})


@pytest.mark.parametrize("lab", ["bridge"], indirect=True)
def test_multicast_can_be_lost_while_the_rest_goes_through(lab: NetLab) -> None:
    lab.lose_multicast()
    assert heard_by(lab, 1) == set()
    until(lambda: reaches(lab, 1) == {2, 3})
    lab.lose_multicast(False)
    until(lambda: heard_by(lab, 1) == {2, 3})


# Prints the round-trip time of each question to an address, or "-" without an answer.
COUNTER = """
import socket, sys, time
address, number = sys.argv[1:]
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(0.5)
for n in range(int(number)):
    start = time.monotonic()
    s.sendto(b"%d" % n, (address, 5000))
    try:
        while s.recv(100) != b"%d" % n:
            pass
        print(time.monotonic() - start)
    except OSError:
        print("-")
"""
# Prints the answers to a hundred numbers, sent without a pause, in the order of arrival.
BURST = """
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for n in range(100):
    s.sendto(b"%d" % n, (sys.argv[1], 5000))
s.settimeout(0.5)
try:
    while True:
        print(s.recv(100).decode())
except OSError:
    pass
"""
only_switch = pytest.mark.parametrize("lab", ["switch"], indirect=True)


def answered(lab: NetLab, host: int, asked: int, number: int) -> list[str]:
    return lab.output(host, [sys.executable, "-c", COUNTER, lab.address(asked), str(number)]).split()


def quickest(lab: NetLab, host: int, asked: int) -> float:
    """Return the shortest of several round trips, in s."""
    return min(float(time) for time in answered(lab, host, asked, 5) if time != "-")


def burst(lab: NetLab, host: int, asked: int) -> list[int]:
    return [int(n) for n in lab.output(host, [sys.executable, "-c", BURST, lab.address(asked)]).split()]


@only_switch
def test_a_shaped_way_is_slow_between_these_two_and_nobody_else_until_it_is_mended(lab: NetLab) -> None:
    until(lambda: reaches(lab, 1) == {2, 3})
    lab.shape(1, 2, delay=0.05)
    assert quickest(lab, 1, 2) >= 0.1
    until(lambda: quickest(lab, 1, 3) < 0.05)
    lab.shape(1, 2)
    until(lambda: quickest(lab, 1, 2) < 0.05)


@only_switch
def test_a_shaped_way_loses_doubles_and_reorders_as_often_as_it_is_told(lab: NetLab) -> None:
    until(lambda: reaches(lab, 1) == {2, 3})
    until(lambda: burst(lab, 1, 2) == list(range(100)))
    lab.shape(1, 2, loss=0.5, oneway=True)
    until(lambda: 20 <= len(burst(lab, 1, 2)) <= 80)
    lab.shape(1, 2, duplicate=1.0, oneway=True)
    until(lambda: burst(lab, 1, 2) == [n for n in range(100) for _ in (1, 2)])
    lab.shape(1, 2, reorder=0.5, oneway=True)
    until(lambda: sorted(came := burst(lab, 1, 2)) == list(range(100)) != came)


@only_switch
def test_a_way_that_is_cut_in_one_direction_still_carries_what_goes_the_other_way(lab: NetLab) -> None:
    until(lambda: reaches(lab, 1) == {2, 3})
    lab.cut_oneway(2, 1)
    before = received(lab, 2)
    assert answered(lab, 1, 2, 1) == ["-"]
    assert received(lab, 2) > before
    until(lambda: reaches(lab, 1) == {3})
    lab.join()
    until(lambda: reaches(lab, 1) == {2, 3})


def received(lab: NetLab, host: int) -> int:
    """Return the number of UDP packets that the host has received."""
    names, figures = (
        line.split()
        for line in lab.output(host, ["cat", "/proc/net/snmp"]).splitlines()
        if line.startswith("Udp:")
    )
    return int(figures[names.index("InDatagrams")])


@only_switch
def test_a_host_in_a_black_hole_reaches_nobody_and_its_cable_stays_plugged_in(lab: NetLab) -> None:
    until(lambda: reaches(lab, 1) == {2, 3})
    lab.blackhole(1)
    until(lambda: (reaches(lab, 1), reaches(lab, 2)) == (set(), {3}))
    assert "LOWER_UP" in lab.output(1, ["ip", "link", "show", "eth0"])
    lab.blackhole(1, False)
    until(lambda: reaches(lab, 1) == {2, 3})


def test_dead_interfaces_have_an_address_and_lead_nowhere() -> None:
    require()
    with NetLab(1, dead=2) as lab:
        shown = lab.output(1, ["ip", "-brief", "-4", "addr"])
        assert "10.99.0.1" in shown and "10.1.1.1" in shown and "10.2.1.1" in shown
        assert "NO-CARRIER" in lab.output(1, ["ip", "link", "show", "eth1"])
        assert "LOWER_UP" in lab.output(1, ["ip", "link", "show", "eth2"])


def test_a_lab_leaves_nothing_behind_even_when_the_test_fails(lab: NetLab) -> None:
    with pytest.raises(ZeroDivisionError):
        with NetLab(2) as other:
            process = other.run(1, ["sleep", "100"])
            made = {path.name for path in Path("/run/netns").iterdir() if other._id in path.name}
            assert len(made) == 3
            raise ZeroDivisionError
    assert process.returncode is not None
    left = {path.name for path in Path("/run/netns").iterdir()}
    assert not made & left
    assert {name for name in left if lab._id in name}  # the other lab still exists


def test_a_lab_that_cannot_be_built_wholly_is_taken_down(monkeypatch: pytest.MonkeyPatch) -> None:
    require()
    broken = NetLab(1)
    monkeypatch.setattr(broken, "_plug", lambda *_: broken._ip_switch("link", "add", "x", "type", "nonsense"))
    with pytest.raises(Refused, match="nonsense"):
        broken.__enter__()
    assert not [path for path in Path("/run/netns").iterdir() if broken._id in path.name]
