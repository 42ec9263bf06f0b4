"""A web service beside the mesh: the latest reading of each room, and new ones by POST.

It needs FastAPI and a server, `pip install fastapi uvicorn`, and a node, `mesh up`:

    uvicorn readings:app
    curl -X POST 'localhost:8000/rooms/hall?temp=21.5'
    curl localhost:8000/rooms
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from fastapi import FastAPI

import mesh


@dataclass
class Reading:
    temp: float


m = mesh.connect(client="readings")
latest: dict[str, float] = {}


@m.on("rooms/+/temp", type=Reading)
async def keep(message: mesh.Message[Reading]) -> None:
    latest[message.key.split("/")[1]] = message.value.temp


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    async with m, m.running():
        app.state.mesh = m
        yield


app = FastAPI(lifespan=lifespan)


@app.get("/rooms")
async def rooms() -> dict[str, float]:
    return latest


@app.post("/rooms/{room}")
async def measured(room: str, temp: float) -> dict[str, str]:
    published = await m.publish(f"rooms/{room}/temp", Reading(temp))
    return {"id": published.id, "state": published.state}
