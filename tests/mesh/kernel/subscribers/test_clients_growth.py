"""The work for one client does not grow with the number of clients; it is counted in bytecodes."""

from collections.abc import Callable
from functools import partial

import pytest

from tests.mesh.steps import steps
from tools.benchmarks.growth.guest import Guest
from tools.benchmarks.growth.host import Host

FEW, MANY = 30, 300
NEARLY = 1.2  # some larger numbers take a byte more


def node_with(clients: int) -> tuple[Host, list[Guest]]:
    """Return a node core whose clients have published one message each."""
    host = Host()
    guests = [Guest(host, f"joe{i}") for i in range(clients)]
    for guest in guests:
        guest.publish(["room/temp"])
    return host, guests


def goodbye(host: Host, guests: list[Guest]) -> None:
    guests[len(guests) // 2].bye()


def letter(host: Host, guests: list[Guest]) -> None:
    guests[0].publish([""], to=f"client/{guests[-1].name}")


@pytest.mark.parametrize("policy", ["drop_newest", "drop_oldest"])
def test_behind_many_that_wait_one_is_dropped_as_behind_few(policy: str) -> None:
    def drop(waiting: int) -> int:
        host = Host(window_count=1)
        reader, publisher = Guest(host, "reader"), Guest(host, "publisher")
        reader.subscribe(1, "exact", "room/temp", overflow=policy, max_queue=waiting)
        for _ in range(waiting + 1):  # the first one is under way
            publisher.publish(["room/temp"])
        taken = steps(lambda: publisher.publish(["room/temp"]))
        assert host.core.parts.context.figures()["dropped"] == 1
        return taken

    assert drop(MANY) < NEARLY * drop(FEW)


@pytest.mark.parametrize("work", [goodbye, letter])
def test_among_many_clients_one_costs_what_it_costs_among_few(
    work: Callable[[Host, list[Guest]], None],
) -> None:
    few, many = (steps(partial(work, *node_with(count))) for count in (FEW, MANY))
    assert 0 < many < NEARLY * few
