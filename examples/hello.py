"""Publish and subscribe. Needs a node on this machine: `mesh up`."""

import asyncio

import mesh


async def main() -> None:
    async with mesh.connect() as m, m.subscribe(pattern="hello/#") as messages:
        published = await m.publish("hello/world", "good morning", headers={"Mood": "fine"}, persistent=True)
        print(f"published {published.id}: {published.state}, {published.matched} subscription")
        async for message in messages:
            print(message.key, message.content.decode(), message.headers.get("mood"), "from", message.sender)
            break


asyncio.run(main())
