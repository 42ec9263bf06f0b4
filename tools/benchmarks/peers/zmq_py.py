"""How fast is the raw proxy with pyzmq? PUB and SUB, a message a send.

A message is one frame: topic, 0, content. Nothing is dropped: no socket has a limit.
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
        while wanted:  # an XPUB is a PUB that hears of subscriptions
            wanted.discard(socket.recv())
        sending = Sending(load)
        for key, content in sending.messages():
            socket.send(topic(key) + content)
        return sending.told()


def topic(key: str) -> bytes:
    """With a closing 0: no topic is the beginning of another."""
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
    """Subscriptions are handled in their order: when a message comes for the last one, all hold."""
    socket.subscribe(probe)
    with joined(context, zmq.PUB, inward) as prober:
        prober.send(probe)
        while not socket.poll(10):
            prober.send(probe)
    socket.unsubscribe(probe)


if __name__ == "__main__":
    run(send, receive)
