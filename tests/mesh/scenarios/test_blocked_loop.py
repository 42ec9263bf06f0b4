"""A consumer whose work blocks its event loop keeps its job, or is warned with a hint."""

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.mesh.running import LIMIT, run_mesh, running, until

BLOCKED = 9  # s: more than the silence below, and enough for a line in the log
WORKER = """
import asyncio, logging, sys, time, mesh
logging.basicConfig(format="%(message)s")
async def main():
    async with mesh.connect(sys.argv[1]) as m, m.queue("jobs").consume(prefetch=1) as jobs:
        async for job in jobs:
            print("begun", flush=True)
            time.sleep(float(sys.argv[2]))
            try:
                await job.ack()
                print("acked", flush=True)
            except mesh.MeshError as error:
                print(error.code, error, error.hint, flush=True)
            await asyncio.sleep(0.1)
asyncio.run(main())
"""


@pytest.mark.slow
@pytest.mark.parametrize("way", ["file", "tcp"])
def test_a_job_that_blocks_the_loop_is_done_once_though_another_consumer_waits(way: str) -> None:
    begun, acked = scenario(way, "silence = 3")
    assert begun == 1 and acked == ["acked"]


@pytest.mark.slow
def test_whoever_is_blocked_for_too_long_is_told_how_long_it_was_and_what_to_do() -> None:
    begun, said = scenario("file", "silence = 3\nbusy = 3")
    assert begun >= 2, "the other consumer was given it"
    assert any(
        line.startswith("LEASE_OVER") and "blocked for" in line and "asyncio.to_thread" in line
        for line in said
    )


def scenario(way: str, timing: str) -> tuple[int, list[str]]:
    """Run two consumers for one job; return how often it was begun, and the outcomes of their acks."""
    with tempfile.TemporaryDirectory() as directory:
        config = Path(directory) / "mesh.toml"
        config.write_text(f"[timing]\nping = 1\n{timing}\n")
        with running("a", options=("--config", str(config))) as a:
            for words in (("create", "jobs"), ("put", "jobs", "one")):
                assert run_mesh("queue", *words, environ=a.environ).returncode == 0
            argv = [sys.executable, "-c", WORKER, "a" if way == "file" else a.tcp, str(BLOCKED)]
            logs = [Path(directory) / f"{n}.log" for n in range(2)]
            workers = []
            for log in logs:
                with log.open("w") as out:
                    workers.append(
                        subprocess.Popen(argv, env=a.environ, stdout=out, stderr=subprocess.STDOUT)
                    )
            try:
                until(lambda: told(lines_of(logs)))
            finally:
                for worker in workers:
                    worker.kill()
                    worker.wait(LIMIT)
            lines = lines_of(logs)
            assert any("blocked" in line and "asyncio.to_thread" in line for line in lines), lines
            return sum(line == "begun" for line in lines), told(lines)


def lines_of(logs: list[Path]) -> list[str]:
    return [line for log in logs for line in log.read_text().splitlines()]


def told(lines: list[str]) -> list[str]:
    """Return the outcomes of acks."""
    return [line for line in lines if line.startswith(("acked", "LEASE_OVER"))]
