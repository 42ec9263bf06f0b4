"""The speed of the raw ZeroMQ proxy with pyzmq: PUB and SUB, one message per send.

A message is one frame: topic, 0, content. Nothing is dropped, as no socket has a limit.
"""

import zmq

from tools.benchmarks.loads.load import Load
from tools.benchmarks.peers.client import QUIET, STALL, Figures, Sending, Tally, run

Socket = zmq.Socket[bytes]


def joined(context: zmq.Context[Socket], kind: int, address: str) -> Socket:
    socket = context.socket(kind)
    socket.sndhwm = socket.rcvhwm = 0
    socket.connect(address)
    return socket


def send(address: str, load: Load) -> Figures:
    inward, _ = address.split(",")
    with zmq.Context() as context, joined(context, zmq.XPUB, inward) as socket:
        wanted = {b"\x01" + topic(key) for key in load.keys}
        while wanted:  # an XPUB is a PUB that receives subscriptions
            wanted.discard(socket.recv())
        sending = Sending(load)
        for key, content in sending.messages():
            socket.send(topic(key) + content)
        return sending.told()


def topic(key: str) -> bytes:
    """Return the topic with a closing 0, so that no topic is a prefix of another."""
    return key.encode() + b"\0"


def receive(address: str, load: Load) -> Figures:
    inward, outward = address.split(",")
    tally = Tally(load)
    with zmq.Context() as context, joined(context, zmq.SUB, outward) as socket:
        for key in load.keys:
            socket.subscribe(topic(key))
        confirm(context, socket, inward, f"ready {load.ready}".encode())
        tally.ready()
        while socket.poll(int(1000 * (QUIET if tally.is_full else STALL))):
            frame = socket.recv()
            if not frame.startswith(b"ready "):
                tally.take(frame[frame.index(b"\0") + 1 :])
    return tally.told()


def confirm(context: zmq.Context[Socket], socket: Socket, inward: str, probe: bytes) -> None:
    """Wait until all subscriptions are in effect.

    The proxy handles subscriptions in order, so that a probe for the last one proves that.
    """
    socket.subscribe(probe)
    with joined(context, zmq.PUB, inward) as prober:
        prober.send(probe)
        while not socket.poll(10):
            prober.send(probe)
    socket.unsubscribe(probe)


if __name__ == "__main__":
    run(send, receive)
