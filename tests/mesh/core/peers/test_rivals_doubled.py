"""What if a data directory was copied, and both were started as often? (Fault row 51.)"""

from mesh.core.desk.effects import Stop
from tests.simulated_client import client_of
from tests.simulation import SimNetwork, copy_of


def test_row_51_at_least_one_of_two_processes_of_one_boot_learns_of_the_other_and_ends() -> None:
    net = SimNetwork()
    heron, stork = net.mesh("heron", "stork")
    twin = copy_of(stork)
    twin.disk.boot = stork.disk.boot - 1
    twin._seeds = (heron.address,)
    twin.start()
    net.until(lambda: stork.stop or twin.stop)
    ended, other = (stork, twin) if stork.stop else (twin, stork)
    assert isinstance(ended.stop, Stop) and ended.stop.code == "CONFLICT"
    assert other.address in ended.stop.error and "copied" in ended.stop.error
    net.run(30)
    if other.is_up:  # it may have learnt of the first one as well
        assert heron.alive == {"stork"}, "nobody said goodbye in its name"
        other.close()
    stork.start()
    net.until(lambda: heron.alive == {"stork"})
    publisher = client_of(heron, "pub")
    subscription = client_of(stork, "sub").subscribed("k")
    publisher.publish("k", b"1", persistent=True)
    net.until(lambda: subscription.contents == [b"1"])


def test_who_moves_and_comes_back_is_nobody_else() -> None:
    net = SimNetwork()
    heron, stork = net.mesh("heron", "stork")
    home = stork.address
    for address in ("tcp://127.0.0.1:6001", home, "tcp://127.0.0.1:6002", home):
        net.bound[address] = stork
        stork.core.readdressed(address, (), net.now, net.wall)
        stork._carry_out_all()
        net.run(3)
    assert stork.stop is None and heron.alive == {"stork"}
