"""The speed of Zenoh from peer to peer with its Python binding, without a router."""

from functools import partial

from tools.benchmarks.loads.load import Load
from tools.benchmarks.peers.client import Figures, Tally, all_of, run
from tools.benchmarks.peers.zenoh_py import opened, send


async def receive(address: str, load: Load) -> Figures:
    """Listen; senders wait until they know the subscribers."""
    tally = Tally(load)
    with opened("peer", "listen", address) as session:
        take = lambda sample: tally.take(sample.payload.to_bytes())  # noqa: E731  a callback
        kept = [session.declare_subscriber(key, take) for key in load.keys]
        tally.ready()
        await all_of(tally)
        for subscriber in kept:
            subscriber.undeclare()
    return tally.told()


if __name__ == "__main__":
    run(partial(send, mode="peer"), receive)
