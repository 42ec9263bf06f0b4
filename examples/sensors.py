"""Many publishers, one subscriber: five sensors, and a display of their latest values.

Needs a node: `mesh up`. With several nodes on this machine, say which one: MESH_URL=heron.
"""

import asyncio
import random

import mesh

ROOMS = ("kitchen", "attic", "cellar", "hall", "bath")
READINGS = 20  # of each sensor


async def sensor(room: str) -> None:
    """One publisher with a session of its own; it could run on any node."""
    async with mesh.connect(client=f"sensor-{room}") as m:
        for _ in range(READINGS):
            await m.publish(f"sensors/{room}/temp", f"{random.uniform(15, 25):.1f}")
            await asyncio.sleep(0.02)


async def display() -> None:
    """Every reading of every sensor, each sensor's in its order."""
    latest: dict[str, str] = {}
    count = 0
    async with (
        mesh.connect(client="display") as m,
        m.subscribe(pattern="sensors/+/temp") as messages,
        asyncio.TaskGroup() as sensors,
    ):
        for room in ROOMS:
            sensors.create_task(sensor(room))
        async for message in messages:
            latest[message.key.split("/")[1]] = message.content.decode()
            count += message.state == "OK"  # not a value that was there before
            if count == READINGS * len(ROOMS):
                break
    print(f"{count} readings; the latest:", ", ".join(f"{room} {latest[room]}" for room in ROOMS))


asyncio.run(display())
