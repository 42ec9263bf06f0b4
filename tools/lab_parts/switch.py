"""A switch with faults: frames from one port leave at others late, twice or not at all.

python switch.py CONTROL PORT...

Runs in the network namespace of the ports. CONTROL is the path of a unix datagram socket for rules as JSON:
{"from": "p1", "to": "p2", "delay": 0.05, "jitter": 0.01, "loss": 0.05, "duplicate": 0.01, "reorder": 0.1,
"cut": false} for frames from p1 to p2; {"from": "p1", "to": "p2"} removes that rule, {} all rules. Each rule
is answered with "ok" if the sender is bound. The program imports nothing of the project, and prints "ready".
"""

import array
import fcntl
import heapq
import json
import random
import select
import socket
import struct
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

ALL = 3  # ETH_P_ALL
OUTGOING = 4  # PACKET_OUTGOING: an own frame
ADD_MEMBERSHIP, PROMISCUOUS = 1, 1  # PACKET_ADD_MEMBERSHIP, PACKET_MR_PROMISC
SOL_PACKET, SO_RCVBUFFORCE, SO_SNDBUFFORCE = 263, 33, 32
ETHTOOL = 0x8946  # SIOCETHTOOL
OFFLOADS = (0x1F, 0x24, 0x17)  # TSO, GSO, checksums of sent packets
FRAME, TURN, BUFFER = 65_536, 64, 8 << 20
BEHIND = 0.02  # s of delay for reordered frames, at least


@dataclass(frozen=True)
class Rule:
    """The rule for frames from one port to another.

    Times are in s, and the other figures are chances from 0 to 1.
    """

    delay: float = 0.0
    jitter: float = 0.0
    loss: float = 0.0
    duplicate: float = 0.0
    reorder: float = 0.0
    cut: bool = False

    def fates(self, chance: random.Random) -> list[tuple[float, bool]]:
        """Return (s until it leaves, whether it may be overtaken) for each copy of a frame."""
        if self.cut or chance.random() < self.loss:
            return []
        copies = 2 if chance.random() < self.duplicate else 1
        return [self._fate(chance) for _ in range(copies)]

    def _fate(self, chance: random.Random) -> tuple[float, bool]:
        late = self.delay + chance.uniform(0.0, self.jitter)
        if chance.random() < self.reorder:
            return late + chance.uniform(0.0, max(BEHIND, self.delay)), True
        return late, False


class Switch:
    """A switch of named ports.

    A frame leaves at the port where its receiver was last seen. A frame to many or to an unknown receiver
    leaves at all other ports.
    """

    def __init__(self, control: Path, ports: Iterable[str], chance: random.Random) -> None:
        self._ports = {name: _opened(name) for name in ports}
        self._names = {port.fileno(): name for name, port in self._ports.items()}
        self._control = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._control.bind(str(control))
        self._chance = chance
        self._rules: dict[tuple[str, str], Rule] = {}
        self._homes: dict[bytes, str] = {}  # address -> port
        self._late: list[tuple[float, int, str, bytes]] = []
        self._last: dict[tuple[str, str], float] = {}  # when the last frame in order leaves
        self._count = 0

    def run(self) -> None:
        poll = select.epoll()
        for number in (*self._names, self._control.fileno()):
            poll.register(number, select.EPOLLIN)
        while True:
            wait = max(0.0, self._late[0][0] - time.monotonic()) if self._late else -1
            for number, _ in poll.poll(wait):
                if number == self._control.fileno():
                    self._obey()
                else:
                    self._take(self._names[number])
            self._let_go()

    def _obey(self) -> None:
        said, sender = self._control.recvfrom(FRAME)
        rule = json.loads(said)
        if rule:
            pair = rule.pop("from"), rule.pop("to")
            self._rules[pair] = Rule(**rule)
        else:
            self._rules.clear()
        if sender:
            self._control.sendto(b"ok", sender)

    def _take(self, name: str) -> None:
        for _ in range(TURN):
            try:
                frame, origin = self._ports[name].recvfrom(FRAME)
            except (BlockingIOError, OSError):  # no more frames, or an unplugged cable
                return
            if origin[2] != OUTGOING:
                self._homes[frame[6:12]] = name
                home = None if frame[0] & 1 else self._homes.get(frame[:6])
                for to in (home,) if home else self._ports:
                    if to != name:
                        self._pass_on(name, to, frame)

    def _pass_on(self, name: str, to: str, frame: bytes) -> None:
        rule = self._rules.get((name, to))
        if rule is None:
            self._send(to, frame)
            return
        for late, may_be_overtaken in rule.fates(self._chance):
            at = time.monotonic() + late
            if not may_be_overtaken:
                at = self._last[name, to] = max(at, self._last.get((name, to), 0.0))
            self._count += 1
            heapq.heappush(self._late, (at, self._count, to, frame))

    def _let_go(self) -> None:
        now = time.monotonic()
        while self._late and self._late[0][0] <= now:
            _, _, to, frame = heapq.heappop(self._late)
            self._send(to, frame)

    def _send(self, to: str, frame: bytes) -> None:
        with suppress(OSError):  # a switch drops it without space or cable
            self._ports[to].send(frame)


def _opened(name: str) -> socket.socket:
    for command in OFFLOADS:
        set_offload(name, command)
    port = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ALL))
    for option in (SO_RCVBUFFORCE, SO_SNDBUFFORCE):
        port.setsockopt(socket.SOL_SOCKET, option, BUFFER)
    port.bind((name, ALL))
    everything = struct.pack("iHH8s", socket.if_nametoindex(name), PROMISCUOUS, 0, b"")
    port.setsockopt(SOL_PACKET, ADD_MEMBERSHIP, everything)
    port.setblocking(False)
    return port


def set_offload(interface: str, command: int, value: int = 0) -> None:
    """Set an offload option as `ethtool -K` does.

    An interface without the option needs no change.
    """
    wish = array.array("B", struct.pack("II", command, value))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("16sP", interface.encode(), wish.buffer_info()[0])
        try:
            fcntl.ioctl(any_socket, ETHTOOL, request)
        except OSError as error:
            print(f"{interface}: offload {command:#x} stays as it is: {error}", file=sys.stderr)


if __name__ == "__main__":
    if sys.argv[1] == "--no-offload":
        for command in OFFLOADS:
            set_offload(sys.argv[2], command)
    else:
        switch = Switch(Path(sys.argv[1]), sys.argv[2:], random.Random())
        print("ready", flush=True)
        switch.run()
