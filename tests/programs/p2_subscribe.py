"""Receive the messages of a pattern."""

import asyncio

import mesh


async def main() -> None:
    async with mesh.connect() as m, m.subscribe(pattern="p2/#", initial=False) as s:
        await m.publish("p2/b", b"x")
        async for x in s:
            print(x.key, x.content)
            break


if __name__ == "__main__":
    asyncio.run(main())
