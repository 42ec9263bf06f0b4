"""Machines on a switch, on this one machine: network namespaces to unplug, divide and heal.

    with NetLab(3, dead=2) as lab:
        lab.run(1, ["mesh", "up"])
        lab.split([1], [2, 3])
        lab.join()

    with NetLab(3, switch=True) as lab:
        lab.shape(1, 2, delay=0.05, loss=0.05)

Host i (from 1) is 10.99.0.i on its interface eth0. Needs root and the command `ip`; `why_not()` returns the
reason if there can be no lab. A lab removes only what it has made itself.
"""

import os
import secrets
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tools.lab_parts.patchbay import Patchbay, without_offload

LIMIT = 10.0  # s until a killed process has ended


class NetLab:
    """A switch with hosts, each in a network namespace of its own.

    Each host also gets `dead` interfaces, eth1 and on, with unreachable addresses: odd ones have no cable,
    and even ones have a cable without a peer, and a default route. They exist before eth0. With `switch`, a
    process replaces the kernel's bridge: it is slower, but only it can `shape` packets.
    """

    def __init__(self, hosts: int, dead: int = 0, *, switch: bool = False) -> None:
        self.hosts = range(1, hosts + 1)
        self._dead = dead
        self._patchbay = Patchbay([_port(host) for host in self.hosts]) if switch else None
        self._name(secrets.token_hex(3))  # labs of other tests may exist
        self._namespaces: list[str] = []
        self._processes: list[subprocess.Popen[Any]] = []

    def _name(self, name: str) -> None:
        self._id = name
        self._switch = f"lab{name}s"

    def __enter__(self) -> Self:
        try:
            self._build()
        except BaseException:
            self._tear_down()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._tear_down()

    @classmethod
    def attached(cls, name: str, hosts: int, rules: Path) -> Self:
        """Return a lab, connected to its switch, that another program has built and will remove."""
        lab = cls.named(name, hosts)
        lab.switch.connect(rules)
        return lab

    @classmethod
    def named(cls, name: str, hosts: int) -> Self:
        """Return a lab that another program has built, without a connection to its switch."""
        lab = cls(hosts, switch=True)
        lab._name(name)
        return lab

    @property
    def name(self) -> str:
        return self._id

    @property
    def switch(self) -> Patchbay:
        """The switch that is a process."""
        assert self._patchbay is not None
        return self._patchbay

    # --- hosts ----------------------------------------------------------------------------------------

    def address(self, host: int) -> str:
        return f"10.99.0.{host}"

    def command(self, host: int, argv: Sequence[str]) -> list[str]:
        """Return the command that runs `argv` on a host.

        Files and unix sockets are those of this machine.
        """
        return ["ip", "netns", "exec", self._namespace(host), *argv]

    def run(self, host: int, argv: Sequence[str], **popen: Any) -> subprocess.Popen[Any]:
        """Start a program on a host.

        The program is killed with the lab, if it still runs then.
        """
        process = subprocess.Popen(self.command(host, argv), **popen)
        self._processes.append(process)
        return process

    def output(self, host: int, argv: Sequence[str]) -> str:
        """Return the output of a short program. Raises: CalledProcessError, if the program fails."""
        done = subprocess.run(self.command(host, argv), capture_output=True, text=True, check=True)
        return done.stdout

    # --- faults ---------------------------------------------------------------------------------------

    def cut(self, host: int) -> None:
        """Unplug a host, which notices, but keeps its address."""
        self._ip_switch("link", "set", _port(host), "down")

    def heal(self, host: int) -> None:
        self._ip_switch("link", "set", _port(host), "up")

    def split(self, *groups: Iterable[int]) -> None:
        """Divide the hosts into groups that cannot reach each other, without notice.

        Groups should name every host.
        """
        if self._patchbay is not None:
            self._patchbay.split([[_port(host) for host in group] for group in groups])
            return
        for number, group in enumerate(groups):
            for host in group:
                self._ip_switch("link", "set", _port(host), "master", f"br{number}")

    def join(self) -> None:
        """Undo `split` and `part`, and remove all `shape` rules; a host that is cut stays unplugged."""
        if self._patchbay is not None:
            self._patchbay.mend()
            return
        self.split(self.hosts)
        for host in self.hosts:
            self._ip_switch("link", "set", _port(host), "type", "bridge_slave", "isolated", "off")

    def part(self, one: int, other: int) -> None:
        """Separate two hosts without notice; the others reach both."""
        if self._patchbay is not None:
            self.shape(one, other, cut=True)
            return
        for host in (one, other):
            self._ip_switch("link", "set", _port(host), "type", "bridge_slave", "isolated", "on")

    def lose_multicast(self, is_lost: bool = True) -> None:
        """Stop forwarding multicast, like many wireless switches, or start again.

        Only the kernel's bridge can do that.
        """
        for host in self.hosts:
            flood = "off" if is_lost else "on"
            self._ip_switch("link", "set", _port(host), "type", "bridge_slave", "mcast_flood", flood)

    def shape(
        self,
        one: int,
        other: int,
        *,
        delay: float = 0.0,
        jitter: float = 0.0,
        loss: float = 0.0,
        duplicate: float = 0.0,
        reorder: float = 0.0,
        cut: bool = False,
        oneway: bool = False,
    ) -> None:
        """Set the faults of the wire between two hosts, or remove them if no figures are given.

        Times are in s, and chances from 0 to 1 for each packet. With `oneway`, only packets from `one` to
        `other` are affected.
        """
        assert self._patchbay is not None, "this lab has the kernel's bridge: say NetLab(…, switch=True)"
        rule = {
            "delay": delay,
            "jitter": jitter,
            "loss": loss,
            "duplicate": duplicate,
            "reorder": reorder,
            "cut": cut,
        }
        self._patchbay.rule(_port(one), _port(other), rule)
        if not oneway:
            self._patchbay.rule(_port(other), _port(one), rule)

    def cut_oneway(self, one: int, other: int) -> None:
        """Cut the wire from `one` to `other`, but not the reverse direction."""
        self.shape(one, other, cut=True, oneway=True)

    def blackhole(self, host: int, is_lost: bool = True) -> None:
        """Drop all packets from and to a host without notice, while its cable stays plugged in.

        If `is_lost` is false, stop dropping them. This needs `switch`.
        """
        for other in self.hosts:
            if other != host:
                self.shape(host, other, cut=is_lost)

    # --- building -------------------------------------------------------------------------------------

    def _build(self) -> None:
        self._add(self._switch)
        if self._patchbay is None:
            for number in range(max(1, len(self.hosts))):  # one for each possible group
                self._ip_switch("link", "add", f"br{number}", "type", "bridge", "mcast_snooping", "0")
                self._ip_switch("link", "set", f"br{number}", "up")
        for host in self.hosts:
            self._add(self._namespace(host))
            for number in range(1, self._dead + 1):
                self._add_dead(host, number)
            self._plug(host, "eth0", _port(host), f"{self.address(host)}/24")
            if self._patchbay is None:
                self._ip_switch("link", "set", _port(host), "master", "br0")
            else:
                self.output(host, without_offload("eth0"))
                _ip("-n", self._namespace(host), "route", "add", "224.0.0.0/4", "dev", "eth0")
            self._ip_switch("link", "set", _port(host), "up")
        if self._patchbay is not None:
            self._patchbay.start(["ip", "netns", "exec", self._switch])

    def _add_dead(self, host: int, number: int) -> None:
        interface, port = f"eth{number}", f"dead{host}.{number}"
        self._plug(host, interface, port, f"10.{number}.{host}.1/24")
        if number % 2 == 0:
            self._ip_switch("link", "set", port, "up")
            metric = str(number)
            _ip("-n", self._namespace(host), "route", "add", "default", "dev", interface, "metric", metric)

    def _plug(self, host: int, interface: str, port: str, address: str) -> None:
        namespace = self._namespace(host)
        self._ip_switch("link", "add", port, "type", "veth", "peer", "name", interface, "netns", namespace)
        _ip("-n", namespace, "addr", "add", address, "dev", interface)
        _ip("-n", namespace, "link", "set", interface, "up")

    def _add(self, namespace: str) -> None:
        _ip("netns", "add", namespace)
        self._namespaces.append(namespace)
        _ip("-n", namespace, "link", "set", "lo", "up")

    def _tear_down(self) -> None:
        for process in self._processes:
            with suppress(ProcessLookupError):
                process.kill()
        for process in self._processes:
            process.wait(LIMIT)
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe is not None:
                    pipe.close()
        if self._patchbay is not None:
            self._patchbay.stop()
        while self._namespaces:
            _ip("netns", "del", self._namespaces.pop())

    @property
    def namespaces(self) -> list[str]:
        """The network namespaces: the switch, then the hosts."""
        return [self._switch, *(self._namespace(host) for host in self.hosts)]

    def _namespace(self, host: int) -> str:
        return f"lab{self._id}h{host}"

    def _ip_switch(self, *arguments: str) -> None:
        _ip("-n", self._switch, *arguments)


@cache
def why_not() -> str:
    """Return the reason why no lab can be built here; "" when one can."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    if shutil.which("ip") is None:
        return "network namespaces need the command `ip` (Debian: apt-get install iproute2)"
    try:
        with NetLab(1):
            return ""
    except Refused as refused:
        return f"no network namespaces here: {refused}"


class Refused(Exception):
    """The command `ip` failed."""


def _port(host: int) -> str:
    return f"p{host}"


def _ip(*arguments: str) -> None:
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        raise Refused(f"ip {' '.join(arguments)}: {done.stderr.strip()}")
