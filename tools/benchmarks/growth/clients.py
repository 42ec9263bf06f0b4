"""The cost of many clients for a node: connections, idle time, messages and departures."""

from tools.benchmarks.growth.guest import Guest
from tools.benchmarks.growth.host import Host
from tools.benchmarks.growth.memory import paused, resident

LETTERS = 200  # direct messages, each to one client


def measured(size: int) -> dict[str, float]:
    """Open `size` sessions at one node core, each with a connection of its own, and return the figures.

    `bytes` are per session, `quiet` is per idle second, and the figure of direct messages is for one of them.
    All figures but `bytes` are CPU seconds.
    """
    host = Host()
    before = resident()
    guests: list[Guest] = []

    def come() -> None:
        for i in range(size):
            guests.append(Guest(host, f"joe{i}"))
            guests[-1].read()

    connecting = host.cost(come)
    each = (resident() - before) / size
    saying = host.cost_of_each(guests, lambda guest: guest.publish(["room/temp"]))
    addressed = host.cost(lambda: _write_to(guests)) / LETTERS
    quiet, pause = host.quiet(), paused()
    for guest in guests:
        guest.read()
    answered = sum(guest.answered for guest in guests)
    assert answered == size + LETTERS, f"{answered} of {size + LETTERS} messages were answered"
    going = host.cost_of_each(guests, Guest.bye)
    return {
        "connect": connecting,
        "bytes": each,
        "say": saying,
        "letter": addressed,
        "quiet": quiet,
        "pause": pause,
        "go": going,
    }


def _write_to(guests: list[Guest]) -> None:
    for i in range(LETTERS):
        guests[-1].publish([""], to=f"client/{guests[i % len(guests)].name}")
