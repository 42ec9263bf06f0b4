"""The speed of Redis with its Python client: PUBLISH in pipelines of 100, or one by one on a schedule."""

import time

import redis

from tools.benchmarks.loads.load import Load
from tools.benchmarks.peers.client import QUIET, STALL, Figures, Sending, Tally, host_and_port, run

PIPELINE = 100


def connected(address: str) -> "redis.Redis":
    host, port = host_and_port(address)
    return redis.Redis(host, port)


def send(address: str, load: Load) -> Figures:
    most = 1 if load.rate else PIPELINE
    with connected(address) as connection:
        pipeline = connection.pipeline(transaction=False)
        sending = Sending(load)
        for key, content in sending.messages():
            pipeline.publish(key, content)
            if len(pipeline) >= most:
                pipeline.execute()
        pipeline.execute()
        return sending.told()


def receive(address: str, load: Load) -> Figures:
    tally = Tally(load)
    with connected(address) as connection, connection.pubsub() as subscription:
        subscription.subscribe(*load.keys)
        wanted, since = len(load.keys), time.monotonic()
        while time.monotonic() - since < (QUIET if tally.is_full else STALL):
            message = subscription.get_message(timeout=QUIET)
            if message is None:
                continue
            since = time.monotonic()
            if message["type"] == "message":
                tally.take(message["data"])
            else:
                wanted -= 1
                if not wanted:
                    tally.ready()
    return tally.told()


if __name__ == "__main__":
    run(send, receive)
