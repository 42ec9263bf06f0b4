"""Publishes a load, waits for the answers, and prints the times as JSON.

python -m tools.benchmarks.loads.publisher NODE LOAD
"""

import asyncio
import json
import sys
import time
from collections.abc import Callable
from functools import partial
from itertools import cycle
from typing import Any

import psutil

import mesh
from mesh.errors import WouldBlock
from tools.benchmarks.loads.load import NUMBER, Load, content
from tools.benchmarks.loads.opening import opened


def contents(load: Load) -> list[bytes]:
    """Return all messages.

    They are made before the measurement, because making them is not a cost of the mesh.
    """
    padding = b"." * (load.size - NUMBER)
    return [content(number, padding) for number in range(load.messages)]


def options_of(load: Load) -> dict[str, Any]:
    options: dict[str, Any] = {}
    if load.persistent:
        options["persistent"] = True
    if load.domain:
        options["domain"] = load.domain
    return options


async def post_all(m: mesh.Client, load: Load, messages: list[bytes]) -> None:
    """Post as fast as the window of unanswered messages allows."""
    options = options_of(load)
    post: Callable[[str, bytes], object] = partial(m.post, **options) if options else m.post
    for key, message in zip(cycle(load.keys), messages, strict=False):
        try:
            post(key, message)
        except WouldBlock:
            await m.publish_oneway(key, message, **options)


async def one_by_one(m: mesh.Client, load: Load, messages: list[bytes]) -> None:
    for message in messages:
        await m.publish(load.keys[0], message, **options_of(load))


async def main(node: str, packed: str) -> dict[str, float]:
    """Return the times of the start and of the last answer (monotonic s), and this process's CPU time (s)."""
    load = Load.unpacked(packed)
    process, messages = psutil.Process(), contents(load)
    async with opened(node, timeout=60.0) as m:
        used, began = process.cpu_times(), time.monotonic()
        if load.many:
            await m.publish_many(load.keys[0], messages, **options_of(load))
        elif load.alone:
            await one_by_one(m, load, messages)
        else:
            await post_all(m, load, messages)
        await m.flush()
        answered, now_used = time.monotonic(), process.cpu_times()
    cpu = now_used.user + now_used.system - used.user - used.system
    return {"began": began, "answered": answered, "cpu": cpu}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(*sys.argv[1:]))))
