"""Do clocks that run fast or slow, and words of a process that is gone, change nothing? (Rows 24 and 53.)"""

from dataclasses import replace

import msgspec
import pytest

from mesh.wire import commands as c
from tests.mesh.core.subscribers.test_datalink_crashes import link
from tests.simulated_client import client_of
from tests.simulation import SimNetwork, SimNode

PPM = 1e-6


class Drifting(SimNode):
    """Its clock gains so many parts of a second in each."""

    drift = 0.0
    offset = 0.0  # s that its monotonic clock is ahead, as in a time namespace

    @property
    def now(self) -> float:
        return self.offset + self.net.now * (1 + self.drift)

    @property
    def wall(self) -> int:
        return super().wall + int(self.net.now * self.drift * 1e9)

    def when(self, moment: float) -> float:
        return (moment - self.offset) / (1 + self.drift)


@pytest.mark.slow  # for its length
@pytest.mark.parametrize(("drift", "offset"), [(1000 * PPM, 0.0), (-1000 * PPM, 100_000.0)])
def test_row_24_a_clock_that_drifts_makes_nobody_dead_and_voids_nothing(drift: float, offset: float) -> None:
    net = SimNetwork(24)
    heron = net.node("heron")
    others = []
    for name, sign in (("stork", 1), ("egret", -1)):
        node = Drifting(net, name, ("heron",), {})
        node.drift, node.offset = sign * drift, offset
        node.start()
        others.append(node)
    net.until(lambda: all(len(node.alive) == 2 for node in (heron, *others)))
    subscription = client_of(others[0], "sub").subscribed("k")
    publisher = client_of(others[1], "pub")
    for n in range(20):
        expires = others[1].wall + 600 * 10**9
        publisher.publish("k", b"%d" % n, persistent=True, expires=expires)
        net.run(60)
    assert subscription.contents == [b"%d" % n for n in range(20)]
    for each in (heron, *others):
        assert not [note for note in each.notes if "dead:" in note or "suspect:" in note]


def test_row_53_words_of_a_boot_that_is_over_are_old_news() -> None:
    net = SimNetwork(53)
    heron, stork, egret = net.mesh("heron", "stork", "egret")
    old = stork.core.parts.desk.me
    stork.restart()
    net.until(lambda: heron.alive == {"stork", "egret"})
    news = heron.metric("old_news")
    rumours = tuple(c.Rumour(old, 99, state, egret.uuid) for state in ("dead", "suspect", "left", "alive"))
    egret.core.parts.desk.send(link(egret, heron, c.NODE_CONTROL), c.Rumours(rumours))
    egret._carry_out_all()
    heron.core.advertised(msgspec.structs.replace(old, address="tcp://127.0.0.1:9"), net.now, net.wall)
    heron._carry_out_all()
    net.run(40)  # so late nobody takes it for a second process beside the new one
    assert heron.alive == {"stork", "egret"}
    ghost = SimNode(net, "stork", ("heron",), {"uuid": stork.uuid})
    ghost.disk = replace(stork.disk, boot=0)
    ghost.start()
    net.run(10)
    member = heron.core.parts.neighbours.membership.of(stork.uuid)
    assert member is not None and (str(member.state), member.boot) == ("alive", 2)
    assert member.address == stork.address and heron.metric("old_news") > news
    assert any("OLD_BOOT" in note for note in ghost.notes) or ghost.stop is not None
