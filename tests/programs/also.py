"""Further wishes of users: a limit, an error by its name, a message that the program makes."""

import asyncio

import mesh


async def main() -> None:
    async with mesh.connect() as m:
        print((await m.publish("also", b"x", timeout=120)).state)
    try:
        async with mesh.connect("nowhere-at-all"):
            pass
    except mesh.NodeNotFound as error:
        print(error.code)
    print(mesh.Message.make("a/b", b"x").content)


if __name__ == "__main__":
    asyncio.run(main())
