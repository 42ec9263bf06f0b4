"""A test of a program that publishes: no node, no disk, no socket."""

import asyncio

import mesh
import mesh.testing


async def warn(m: mesh.Client, temperature: float) -> None:
    """Publish an alarm, as the tested program does."""
    if temperature > 30:
        await m.publish("alarms/heat", f"{temperature}")


async def main() -> None:
    async with mesh.testing.Mesh() as memory:
        async with memory.connect() as m:
            await warn(m, 20.0)
            await warn(m, 31.0)
        print([(p.key, p.content) for p in memory.published])


if __name__ == "__main__":
    asyncio.run(main())
