"""The cost of many retained topics: publishing, keeping, getting one, and sending all to a new client."""

from tools.benchmarks.growth.guest import Guest
from tools.benchmarks.growth.host import Host
from tools.benchmarks.growth.memory import paused, resident

ROOM = 1 << 40  # bytes: no value is evicted or dropped
BATCH = 100  # keys in an envelope
GETS = 200


def measured(size: int) -> dict[str, float]:
    """Publish `size` topics with a retained value of 100 bytes, and return the figures.

    `bytes` are per topic, and `get` is for one value. All figures but `bytes` are CPU seconds.
    """
    host = Host(topics_bytes=ROOM, backlog_bytes=ROOM)
    guest = Guest(host, "joe")
    keys = [f"room/{i}/temp" for i in range(size)]
    before = resident()

    def put() -> None:
        for start in range(0, size, BATCH):
            guest.publish(keys[start : start + BATCH])
            guest.read()
        guest.get("exact", keys[0])  # the first get sorts in late values

    putting = host.cost(put)
    each = (resident() - before) / size
    getting = host.cost_of_each(range(GETS), lambda i: guest.get("exact", keys[i * 7919 % size])) / GETS
    finding = host.cost(lambda: guest.get("pattern", f"room/{size // 2}/+"))
    guest.read()
    assert guest.found == GETS + 2, f"{guest.found} of {GETS + 2} values were found"
    joining = host.cost(lambda: _join(host, size))
    return {
        "put": putting,
        "bytes": each,
        "get": getting,
        "find": finding,
        "join": joining,
        "pause": paused(),
    }


def _join(host: Host, size: int) -> None:
    newcomer = Guest(host, "newcomer")
    newcomer.subscribe(1, "pattern", "room/#")
    came = newcomer.drain()
    assert came == size, f"{came} of {size} values came"
