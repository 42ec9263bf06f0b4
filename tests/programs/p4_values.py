"""Publish values that are neither bytes nor text."""

import asyncio
from dataclasses import dataclass

import mesh


@dataclass
class Reading:
    t: float


async def main() -> None:
    async with mesh.connect() as m:
        await m.publish("p4/b", {"t": 21.5})
        await m.publish("p4/c", Reading(21.5))
        for message in await m.get(pattern="p4/#"):
            print(message.key, message.headers["content-type"], message.json())


if __name__ == "__main__":
    asyncio.run(main())
