"""The cost of many subscriptions: making them, keeping them, and finding the one for a message."""

from math import ceil
from random import Random

from tools.benchmarks.growth.guest import Guest
from tools.benchmarks.growth.host import Host
from tools.benchmarks.growth.memory import paused, resident

EACH = 1_000  # subscriptions per session, the maximum
ROUTED = 1_000  # messages, each for one subscription
TEXTS = {"exact": "room/{}/temp", "pattern": "room/{}/+"}


def exact(size: int) -> dict[str, float]:
    return measured("exact", size)


def pattern(size: int) -> dict[str, float]:
    return measured("pattern", size)


def measured(kind: str, size: int) -> dict[str, float]:
    """Make `size` subscriptions of one kind at one node, and return the figures.

    `bytes` are per subscription, `route` is per message, and `quiet` is per idle second. All but `bytes` are
    CPU s.
    """
    host = Host()
    guests = [Guest(host, f"reader{i}") for i in range(ceil(size / EACH))]
    publisher = Guest(host, "publisher")
    before = resident()

    def subscribe() -> None:
        for i in range(size):
            guests[i // EACH].subscribe(i + 1, kind, TEXTS[kind].format(i))
            guests[i // EACH].read()

    subscribing = host.cost(subscribe)
    each = (resident() - before) / size
    figures = {
        "make": subscribing,
        "bytes": each,
        "route": _route(host, publisher, guests, size),
        "quiet": host.quiet(),
        "pause": paused(),
    }
    return figures | {"leave": host.cost_of_each(guests, Guest.bye)}


def _route(host: Host, publisher: Guest, guests: list[Guest], size: int) -> float:
    """Return the CPU seconds per message, on average over ROUTED messages."""
    chance = Random(1)

    def publish() -> None:
        publisher.publish([TEXTS["exact"].format(chance.randrange(size))])

    spent = sum(host.cost(publish) for _ in range(ROUTED))
    came = sum(guest.drain() for guest in guests)
    assert came == ROUTED, f"{came} of {ROUTED} messages came"
    return spent / ROUTED
