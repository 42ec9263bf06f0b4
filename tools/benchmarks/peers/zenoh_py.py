"""The speed of Zenoh with its Python binding; `route` is its router, a process of its own.

Congestion control is BLOCK: senders wait, and nothing is dropped.
"""

import json
import signal
import sys
import threading
import time

import zenoh

from tools.benchmarks.loads.load import Load
from tools.benchmarks.peers.client import STALL, Figures, Sending, Tally, all_of, run

TURN = 0.01  # s


def opened(mode: str, side: str, address: str) -> zenoh.Session:
    """Open a session with the given addresses only, comma-separated, without discovery."""
    config = zenoh.Config()
    settings = {
        "mode": mode,
        f"{side}/endpoints": [f"tcp/{each}" for each in address.split(",")],
        "scouting/multicast/enabled": False,
        "scouting/gossip/enabled": False,
    }
    if side == "connect":
        settings["listen/endpoints"] = []
    else:
        settings["connect/endpoints"] = []
    for name, value in settings.items():
        config.insert_json5(name, json.dumps(value))
    return zenoh.open(config)


def route(address: str) -> None:
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    with opened("router", "listen", address):
        ended.wait()


def send(address: str, load: Load, mode: str = "client") -> Figures:
    block = zenoh.CongestionControl.BLOCK
    with opened(mode, "connect", address) as session:
        publishers = [session.declare_publisher(key, congestion_control=block) for key in load.keys]
        wait_for_readers(publishers)
        put = {str(publisher.key_expr): publisher.put for publisher in publishers}
        sending = Sending(load)
        for key, content in sending.messages():
            put[key](content)
        return sending.told()


def wait_for_readers(publishers: list[zenoh.Publisher]) -> None:
    """Wait for subscribers, as a publisher drops its messages before it knows one.

    Raises TimeoutError after STALL seconds.
    """
    limit = time.monotonic() + STALL
    while not all(publisher.matching_status.matching for publisher in publishers):
        if time.monotonic() > limit:
            raise TimeoutError(f"the router knows no subscriber after {STALL:g} s")
        time.sleep(TURN)


async def receive(address: str, load: Load) -> Figures:
    tally = Tally(load)
    with opened("client", "connect", address) as session:
        take = lambda sample: tally.take(sample.payload.to_bytes())  # noqa: E731  a callback
        kept = [session.declare_subscriber(key, take) for key in load.keys]
        confirm(session, address, f"ready/{load.ready}")
        tally.ready()
        await all_of(tally)
        for subscriber in kept:
            subscriber.undeclare()
    return tally.told()


def confirm(session: zenoh.Session, address: str, key: str) -> None:
    """Wait until all subscriptions are in effect.

    The router handles subscriptions in order, so that a probe for the last one proves that.
    """
    came = threading.Event()
    subscriber = session.declare_subscriber(key, lambda _: came.set())
    with opened("client", "connect", address) as prober:
        prober.put(key, b"")
        while not came.wait(TURN):
            prober.put(key, b"")
    subscriber.undeclare()


if __name__ == "__main__":
    if sys.argv[1] == "route":
        route(sys.argv[2])
    else:
        run(send, receive)
