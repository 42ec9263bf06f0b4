"""What do many subscriptions cost: to make, to keep, and to find the one that a message is for?"""

from math import ceil
from random import Random

from tools.benchmarks.growth.guest import Guest
from tools.benchmarks.growth.host import Host
from tools.benchmarks.growth.memory import paused, resident

EACH = 1_000  # subscriptions of a session: as many as it may have
ROUTED = 1_000  # messages, each for one of them
TEXTS = {"exact": "room/{}/temp", "pattern": "room/{}/+"}


def exact(size: int) -> dict[str, float]:
    return measured("exact", size)


def pattern(size: int) -> dict[str, float]:
    return measured("pattern", size)


def measured(kind: str, size: int) -> dict[str, float]:
    """So many subscriptions of one kind on one node."""
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
    """Seconds for each of some messages."""
    chance = Random(1)

    def publish() -> None:
        publisher.publish([TEXTS["exact"].format(chance.randrange(size))])

    spent = sum(host.cost(publish) for _ in range(ROUTED))
    came = sum(guest.drain() for guest in guests)
    assert came == ROUTED, f"{came} of {ROUTED} messages came"
    return spent / ROUTED
