"""A wire between two sites, each a machine with a network of its own, with delay and packet loss."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tools.lab_parts.netlab import NetLab

LON, NYC = 1, 2  # hosts
NAMES = {LON: "LON", NYC: "NYC"}
DELAY, LOSS = 0.02, 0.01  # s each way, and of all packets


@dataclass(frozen=True, slots=True)
class Wan:
    """The wire, while it exists."""

    lab: NetLab

    def host(self, site: int) -> str:
        return self.lab.address(site)

    def inside(self, site: int) -> list[str]:
        """Return the prefix of commands that run at a site."""
        return self.lab.command(site, [])

    def carried(self) -> int:
        """Return the bytes that LON has sent over the wire, with all headers."""
        return int(self.lab.output(LON, ["cat", "/sys/class/net/eth0/statistics/tx_bytes"]))


@contextmanager
def wan() -> Iterator[Wan]:
    with NetLab(2, switch=True) as lab:
        lab.shape(LON, NYC, delay=DELAY, loss=LOSS)
        yield Wan(lab)
