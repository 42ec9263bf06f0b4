"""The interfaces on which mDNS runs, in namespaces with real interfaces."""

import json
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.netlab import NetLab, require
from tests.waiting import LIMIT, until

pytestmark = pytest.mark.slow
HERE = Path(__file__).parents[2]
MDNS_GROUP = "224.0.0.251"


class Caller:
    """`tests.discovery.caller` on one host of a lab."""

    def __init__(self, lab: NetLab, host: int, interfaces: list[str], at: str = "", **times: float) -> None:
        told = {"name": str(host), "interfaces": interfaces, "hosts": [at or lab.address(host)], **times}
        self._process = lab.run(
            host,
            [sys.executable, "-m", "tests.discovery.caller", json.dumps(told)],
            cwd=HERE,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._seen: list[dict[str, Any]] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        for line in self._process.stdout or ():
            self._lines.put(line)

    def seen(self) -> list[dict[str, Any]]:
        while not self._lines.empty():
            self._seen.append(json.loads(self._lines.get()))
        return self._seen

    def found(self) -> dict[str, list[str]]:
        """Return the hosts of the last advert of each node, by name."""
        return {sight["name"]: sight["hosts"] for sight in self.seen() if sight["kind"] == "found"}

    def is_up(self) -> bool:
        return "up" in [sight["kind"] for sight in self.seen()]

    def go_over(self, *interfaces: str) -> None:
        assert self._process.stdin is not None
        print(json.dumps(interfaces), file=self._process.stdin, flush=True)

    def stop(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(LIMIT)
        self._reader.join(LIMIT)


@pytest.fixture
def lab() -> Iterator[NetLab]:
    require()
    with NetLab(3, dead=2) as lab:
        yield lab


def link_local(lab: NetLab, host: int) -> str:
    """Return the IPv6 link-local address of eth0, with its scope, once it is usable."""
    until(lambda: "tentative" not in lab.output(host, ["ip", "-6", "addr", "show", "eth0"]))
    shown = lab.output(host, ["ip", "-6", "-brief", "addr", "show", "dev", "eth0", "scope", "link"])
    return f"{shown.split()[2].partition('/')[0]}%eth0"


def test_three_see_each_other_although_each_has_two_dead_interfaces(lab: NetLab) -> None:
    callers = [Caller(lab, n, [f"10.2.{n}.1", f"10.1.{n}.1", lab.address(n)]) for n in lab.hosts]
    until(lambda: all(len(caller.found()) == 2 for caller in callers))
    assert callers[0].found() == {"2": ["10.99.0.2"], "3": ["10.99.0.3"]}


def test_nothing_is_said_on_an_interface_that_was_not_given(lab: NetLab) -> None:
    caller = Caller(lab, 1, [lab.address(1)])
    until(caller.is_up)
    assert MDNS_GROUP in lab.output(1, ["ip", "maddr", "show", "dev", "eth0"])
    assert MDNS_GROUP not in lab.output(1, ["ip", "maddr", "show", "dev", "eth2"])
    assert MDNS_GROUP not in lab.output(1, ["ip", "maddr", "show", "dev", "lo"])


def test_where_only_ipv6_is_spoken_others_are_found_too(lab: NetLab) -> None:
    here = {n: link_local(lab, n) for n in (1, 2)}
    one, two = (Caller(lab, n, [here[n]], at=here[n]) for n in (1, 2))
    until(lambda: "2" in one.found() and "1" in two.found())
    address, _, scope = one.found()["2"][0].partition("%")
    assert address == here[2].partition("%")[0]
    assert scope == lab.output(1, ["cat", "/sys/class/net/eth0/ifindex"]).strip()


def test_an_interface_that_comes_later_is_spoken_on_and_one_that_went_is_left(lab: NetLab) -> None:
    one, two = Caller(lab, 1, ["10.2.1.1"], pause=0.5), Caller(lab, 2, [lab.address(2)])
    until(lambda: one.is_up() and two.is_up())
    assert one.found() == two.found() == {}
    one.go_over(lab.address(1), link_local(lab, 1))
    until(lambda: "2" in one.found() and "1" in two.found())
    assert MDNS_GROUP not in lab.output(1, ["ip", "maddr", "show", "dev", "eth2"])


def test_an_interface_without_its_address_yet_is_tried_again(lab: NetLab) -> None:
    lab.output(1, ["ip", "addr", "del", "10.99.0.1/24", "dev", "eth0"])
    one, two = (Caller(lab, n, [f"10.2.{n}.1", lab.address(n)], look=1.0) for n in (1, 2))
    until(one.is_up)
    assert MDNS_GROUP not in lab.output(1, ["ip", "maddr", "show", "dev", "eth0"])
    lab.output(1, ["ip", "addr", "add", "10.99.0.1/24", "dev", "eth0"])
    until(lambda: "2" in one.found() and "1" in two.found())


def test_those_that_started_on_two_sides_of_a_split_find_each_other_once_it_is_mended(lab: NetLab) -> None:
    lab.split([1], [2, 3])
    callers = [Caller(lab, n, [lab.address(n)], look=2.0) for n in lab.hosts]
    # After a third sighting, two checks have passed, and no node announces itself any more.
    until(lambda: [sight.get("name") for sight in callers[1].seen()].count("3") >= 3)
    assert callers[0].found() == {}
    lab.join()
    until(lambda: all(len(caller.found()) == 2 for caller in callers))


def test_one_that_stops_leaves_its_sockets_and_the_others_stay(lab: NetLab) -> None:
    one, two = (Caller(lab, n, [lab.address(n)]) for n in (1, 2))
    until(lambda: "2" in one.found() and "1" in two.found())
    one.stop()
    assert MDNS_GROUP not in lab.output(1, ["ip", "maddr", "show", "dev", "eth0"])
    again = Caller(lab, 1, [lab.address(1)])
    until(lambda: "2" in again.found())
