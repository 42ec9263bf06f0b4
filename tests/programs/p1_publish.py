"""Publish one message."""

import asyncio

import mesh


async def main() -> None:
    async with mesh.connect() as m:
        answer = await m.publish("a/b", b"x")
    print(answer.state, answer.matched)


if __name__ == "__main__":
    asyncio.run(main())
