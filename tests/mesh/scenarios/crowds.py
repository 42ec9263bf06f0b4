"""Programs that load a node, many at once: floods of questions, and connections that come and go.

python -m tests.mesh.scenarios.crowds asking ADDRESS
python -m tests.mesh.scenarios.crowds coming ADDRESS COUNT AT_ONCE
"""

import asyncio
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import mesh
from mesh.errors import MeshError
from tests.mesh.running import LIMIT

QUESTIONS = 12_000  # of one program, concurrently


def begun(environ: Mapping[str, str], *arguments: str) -> "subprocess.Popen[str]":
    """Start one of these programs."""
    command = [sys.executable, "-m", "tests.mesh.scenarios.crowds", *arguments]
    return subprocess.Popen(command, env=dict(environ), stdout=subprocess.PIPE, text=True)


@contextmanager
def asking(environ: Mapping[str, str], address: str, programs: int) -> Iterator[None]:
    """Run programs whose questions are outstanding during the block, and kill them afterwards."""
    them = [begun(environ, "asking", address) for _ in range(programs)]
    try:
        for one in them:
            assert one.stdout is not None and one.stdout.readline() == "asking\n"
        yield
    finally:
        for one in them:
            one.kill()
        for one in them:
            one.communicate()


async def ask(address: str) -> None:
    """Ask all questions at once, and print a line when the first is answered."""
    async with mesh.connect(address, timeout=LIMIT) as m:
        await m.publish("crowd/a", b"." * 1000)
        questions = [asyncio.create_task(m.get(pattern="#")) for _ in range(QUESTIONS)]
        await asyncio.wait(questions, return_when=asyncio.FIRST_COMPLETED)
        print("asking", flush=True)
        await asyncio.gather(*questions)


async def come(
    address: str, count: int, at_once: int, environ: Mapping[str, str] | None = None
) -> Counter[str]:
    """Connect and close `count` times. Return the number of successes, and of failures by their codes."""
    met, left = Counter[str](), iter(range(count))

    async def one_by_one() -> None:
        for _ in left:
            try:
                async with mesh.connect(address, timeout=LIMIT, environ=environ):
                    met["in"] += 1
            except MeshError as error:
                met[error.code] += 1

    await asyncio.gather(*[one_by_one() for _ in range(at_once)])
    return met


if __name__ == "__main__":
    what, address, *rest = sys.argv[1:]
    if what == "asking":
        asyncio.run(ask(address))
    else:
        print(dict(asyncio.run(come(address, int(rest[0]), int(rest[1])))))
