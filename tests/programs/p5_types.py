"""Receive values of a type. A content of another type is reported, and the reader continues."""

import asyncio
from dataclasses import dataclass

import mesh


@dataclass
class Reading:
    t: float


async def main() -> None:
    async with mesh.connect() as m, m.subscribe(pattern="p5/#", type=Reading, initial=False) as s:
        await m.publish("p5/wrong", {"t": "warm"})
        await m.publish("p5/right", Reading(21.5))
        async for x in s:
            try:
                print(x.key, x.value.t + 1)
            except mesh.BadContent as error:
                print(x.key, error.code)
            if x.key == "p5/right":
                break


if __name__ == "__main__":
    asyncio.run(main())
