"""The speed of mosquitto with Eclipse Paho in Python: QoS 0, and the client's own network thread."""

import threading

from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion

from tools.benchmarks.loads.load import Load
from tools.benchmarks.peers.client import STALL, Figures, Sending, Tally, all_of, host_and_port, run


def connected(address: str) -> Client:
    client, joined = Client(CallbackAPIVersion.VERSION2), threading.Event()
    client.on_connect = lambda *_: joined.set()
    client.max_queued_messages_set(0)  # unlimited
    client.connect(*host_and_port(address))
    client.loop_start()
    if not joined.wait(STALL):
        raise TimeoutError(f"{address} did not answer within {STALL:g} s")
    return client


def send(address: str, load: Load) -> Figures:
    client = connected(address)
    sending = Sending(load)
    for key, content in sending.messages():
        last = client.publish(key, content)
    last.wait_for_publish(60)
    told = sending.told()
    client.disconnect()
    client.loop_stop()
    return told


async def receive(address: str, load: Load) -> Figures:
    client = connected(address)
    tally, held = Tally(load), threading.Event()
    client.on_message = lambda _client, _data, message: tally.take(message.payload)
    client.on_subscribe = lambda *_: held.set()
    client.subscribe([(key, 0) for key in load.keys])
    if not held.wait(STALL):
        raise TimeoutError(f"{address} confirmed no subscription within {STALL:g} s")
    tally.ready()
    await all_of(tally)
    client.disconnect()
    client.loop_stop()
    return tally.told()


if __name__ == "__main__":
    run(send, receive)
