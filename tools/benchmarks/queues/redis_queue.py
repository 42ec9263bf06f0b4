"""The speed of Redis streams with the Python client: XADD, XREADGROUP and XACK; appendfsync always.

A pipeline is as long as the window. Acked entries stay in the stream, as deleting them costs more.
"""

import signal
from typing import Any

import redis

from tools.benchmarks.peers.redis_py import connected
from tools.benchmarks.queues.jobs import Figures, Jobs, Putting, Taken, run

GROUP = "workers"
BLOCK = 100  # ms


def put(address: str, jobs: Jobs) -> Figures:
    with connected(address) as connection:
        putting = Putting(jobs)
        contents = putting.contents
        for at in range(0, len(contents), jobs.window):
            pipeline = connection.pipeline(transaction=False)
            for content in contents[at : at + jobs.window]:
                pipeline.xadd(jobs.name, {b"c": content})
            pipeline.execute()
        return putting.told()


def take(address: str, jobs: Jobs) -> Figures:
    ended: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, frame: ended.append(number))
    with connected(address) as connection:
        taken = Taken(jobs)
        try:
            connection.xgroup_create(jobs.name, GROUP, id="0", mkstream=True)
        except redis.ResponseError as error:
            if "BUSYGROUP" not in str(error):  # another consumer was first
                raise
        taken.ready()
        while not ended:
            found: Any = connection.xreadgroup(
                GROUP, str(jobs.part), {jobs.name: ">"}, count=jobs.window, block=BLOCK
            )
            if found:
                entries = found[0][1] if isinstance(found, list) else next(iter(found.values()))[0]
                taken.take([fields[b"c"] for _, fields in entries])
                connection.xack(jobs.name, GROUP, *(number for number, _ in entries))
                taken.acked(len(entries))
        return taken.told()


if __name__ == "__main__":
    run(put, take)
