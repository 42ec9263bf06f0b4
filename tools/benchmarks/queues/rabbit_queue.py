"""The speed of RabbitMQ queues with pika: streaming confirms, manual acks, persistent messages.

ADDRESS: HOST:PORT/TYPE, with the type of the queue: quorum, or classic and durable. One ack covers all
messages that were read together, and is not confirmed.
"""

import asyncio
from typing import Any

import pika
from pika.adapters.asyncio_connection import AsyncioConnection
from pika.channel import Channel

from tools.benchmarks.peers.client import host_and_port
from tools.benchmarks.queues.jobs import Figures, Jobs, Putting, Taken, run, until_ended

PERSISTENT = pika.BasicProperties(delivery_mode=2)


async def _opened(address: str, jobs: Jobs) -> tuple[AsyncioConnection, Channel]:
    where, _, kind = address.partition("/")
    host, port = host_and_port(where)
    loop = asyncio.get_running_loop()
    opened: asyncio.Future[Any] = loop.create_future()
    connection = AsyncioConnection(
        pika.ConnectionParameters(host, port),
        on_open_callback=opened.set_result,
        on_open_error_callback=lambda _, error: opened.set_exception(error),
    )
    await opened
    channels: asyncio.Future[Channel] = loop.create_future()
    connection.channel(on_open_callback=channels.set_result)
    channel = await channels
    declared: asyncio.Future[Any] = loop.create_future()
    channel.queue_declare(
        jobs.name, durable=True, arguments={"x-queue-type": kind}, callback=declared.set_result
    )
    await declared
    return connection, channel


class _Confirms:
    """The confirms of a publisher's messages, which come for one message or for a range.

    `confirmed` is the number of confirmed messages; each confirm sets `changed`.
    """

    def __init__(self) -> None:
        self.confirmed = self._last = 0
        self._apart: set[int] = set()
        self.changed = asyncio.Event()

    def hear(self, frame: Any) -> None:
        method = frame.method
        if method.NAME != "Basic.Ack":
            raise SystemExit(f"refused: {method}")
        self._apart |= (
            set(range(self._last + 1, method.delivery_tag + 1)) if method.multiple else {method.delivery_tag}
        )
        while self._last + 1 in self._apart:
            self._last += 1
            self._apart.discard(self._last)
        self.confirmed = self._last + len(self._apart)
        self.changed.set()


async def put(address: str, jobs: Jobs) -> Figures:
    connection, channel = await _opened(address, jobs)
    confirms, selected = _Confirms(), asyncio.get_running_loop().create_future()
    channel.confirm_delivery(confirms.hear, callback=selected.set_result)
    await selected
    putting = Putting(jobs)
    for number, content in enumerate(putting.contents):
        while number - confirms.confirmed >= jobs.window:
            confirms.changed.clear()
            await confirms.changed.wait()
        channel.basic_publish("", jobs.name, content, PERSISTENT)
    while confirms.confirmed < len(putting.contents):
        confirms.changed.clear()
        await confirms.changed.wait()
    told = putting.told()
    connection.close()
    return told


class _Acks:
    """The consumer's acks: messages read in one turn of the loop are acked together."""

    def __init__(self, taken: Taken) -> None:
        self._taken = taken
        self._loop = asyncio.get_running_loop()
        self._read, self._tag = 0, 0

    def take(self, channel: Channel, method: Any, _properties: Any, content: bytes) -> None:
        self._taken.take([content], [0] if method.redelivered else [])
        if not self._read:
            self._loop.call_soon(self._ack, channel)
        self._read, self._tag = self._read + 1, method.delivery_tag

    def _ack(self, channel: Channel) -> None:
        channel.basic_ack(self._tag, multiple=True)
        self._taken.acked(self._read)
        self._read = 0


async def take(address: str, jobs: Jobs) -> Figures:
    taken, over = Taken(jobs), until_ended()
    connection, channel = await _opened(address, jobs)
    loop = asyncio.get_running_loop()
    limited, consuming = loop.create_future(), loop.create_future()
    channel.basic_qos(prefetch_count=jobs.window, callback=limited.set_result)
    await limited
    channel.basic_consume(jobs.name, _Acks(taken).take, callback=consuming.set_result)
    await consuming
    taken.ready()
    await over.wait()
    told = taken.told()
    connection.close()
    return told


if __name__ == "__main__":
    run(put, take)
