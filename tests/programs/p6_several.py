"""Read several topics with one iterator."""

import asyncio

import mesh


async def main() -> None:
    async with mesh.connect() as m:
        async with m.subscribe("p6/1", "p6/2", initial=False) as s:
            for key in ("p6/1", "p6/2"):
                await m.publish(key, b"")
            print(sorted([(await anext(s)).key, (await anext(s)).key]))
        async with m.subscribe(pattern=["p6/a/#", "p6/b/#"], initial=False) as s:
            for key in ("p6/a/x", "p6/b/x"):
                await m.publish(key, b"")
            print(sorted([(await anext(s)).key, (await anext(s)).key]))


if __name__ == "__main__":
    asyncio.run(main())
