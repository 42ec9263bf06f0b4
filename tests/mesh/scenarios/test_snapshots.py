"""Snapshots of real nodes have the nodes' counters, and survive kill -9."""

import asyncio
import contextlib
import json
import signal
from pathlib import Path
from typing import Any

import pytest

from mesh.client.client import Client
from mesh.errors import MeshError
from tests.mesh.meshes import eventually
from tests.mesh.running import RunningNode, running, until
from tests.mesh.scenarios.test_balancing import DOMAIN, KEY, MASTERS, READER, Company, company, publish


def lines(place: Path, node: str, pattern: str = "{}-*.jsonl") -> list[dict[str, Any]]:
    """Return the lines of a node's closed segments, in the order in which it wrote them."""
    found = [
        json.loads(line)
        for path in place.rglob(pattern.format(node))
        for line in path.read_text().splitlines()
    ]
    return sorted(found, key=lambda line: (line["observer_boot"], line["line"]))


def unfinished(place: Path, node: str, boot: int) -> list[Path]:
    """Return the segments of a boot that are not closed."""
    return [*place.rglob(f"_{node}-*-{boot}-*.jsonl")]


def last_word(node: RunningNode) -> dict[str, Any]:
    """Stop a node cleanly, and return the report that it prints."""
    process = node._running()
    process.send_signal(signal.SIGTERM)
    assert process.stdout is not None
    said: dict[str, Any] = json.loads(process.stdout.read())
    assert node.wait() == 0
    return said


async def busy_until_it_stops(c: Company) -> dict[str, Any]:
    """Stop the reader's node while its client publishes and gets, and return its last report."""
    async with c.connect(READER) as reader:
        await publish(reader)
        done = 0

        async def work(client: Client) -> None:
            nonlocal done
            with contextlib.suppress(MeshError):
                while True:
                    await client.publish(KEY, b"x" * 100, domain=DOMAIN)
                    await client.get(KEY, domain=DOMAIN, fresh=True)
                    done += 1

        tasks = [asyncio.create_task(work(reader)) for _ in range(20)]
        await eventually(lambda: done >= 500)
        said = await asyncio.to_thread(last_word, c.node(READER))
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await reader.close(drain=False)  # calls under way are never answered
        return said


def test_the_last_lines_of_a_clean_stop_are_what_the_node_has_counted(tmp_path: Path) -> None:
    with company(tmp_path, "RoundRobin") as c:
        place = Path(c.node(READER).it["data"]) / "snapshots"
        said = asyncio.run(busy_until_it_stops(c))
        found = lines(place, READER)
        assert not unfinished(place, READER, said["boot"])
    assert [line["line"] for line in found] == [*range(1, len(found) + 1)]
    assert (found[-1]["kind"], found[-1]["event"], found[-1]["node"]) == ("event", "stopped", READER)
    last = {line["node"]: line for line in found if line["kind"] == "balance"}
    assert set(last) == set(MASTERS)

    def total(what: str) -> int:
        return sum(line[what] for line in last.values())

    metrics = said["metrics"]
    assert total("sent") == metrics["forwarded"] > 1000
    for what in ("chosen", "asked", "answered"):
        assert total(what) == metrics[f"balance_{what}"] >= 500


@pytest.mark.smoke
def test_a_killed_node_leaves_one_unfinished_segment_and_recovers_it_and_nobody_elses(tmp_path: Path) -> None:
    place = tmp_path / "shared"
    file = tmp_path / "mesh.toml"
    file.write_text(f'[snapshots]\ndir = "{place}"\n')
    options = ("--config", str(file))
    with running("heron", options=options) as heron, running("ibis", beside=heron, options=options) as ibis:
        until(lambda: len(lines(place, "heron", "_{}-*.jsonl")) >= 3)
        first = heron.it["boot"]
        heron.kill()
        [left] = unfinished(place, "heron", first)
        content = left.read_bytes()
        with left.open("ab") as file_left:
            file_left.write(b'{"kind":"sta')  # as if killed within a write
        # Segments of the other node, which is alive. It may close them, but no other node may.
        theirs = {path.stat().st_ino for path in unfinished(place, "ibis", ibis.it["boot"])}
        heron.start()
        until(lambda: not unfinished(place, "heron", first))
        assert (left.parent / left.name.removeprefix("_")).read_bytes() == content
        until(lambda: "Recovered snapshots that an earlier start left unfinished: " in heron.log)
        until(lambda: unfinished(place, "heron", first + 1))
        assert theirs <= {path.stat().st_ino for path in place.rglob("*ibis-*.jsonl")}
    starts = [line["observer_boot"] for line in lines(place, "heron") if line.get("event") == "started"]
    stops = [line["observer_boot"] for line in lines(place, "heron") if line.get("event") == "stopped"]
    assert (starts, stops) == ([first, first + 1], [first + 1])
    assert lines(place, "ibis")[-1]["event"] == "stopped"
    assert not [*place.rglob("_*.jsonl")]


def test_a_node_that_was_renamed_goes_on_with_its_uuid(tmp_path: Path) -> None:
    place, data = tmp_path / "snapshots", str(tmp_path / "data")
    file = tmp_path / "mesh.toml"
    file.write_text(f'[snapshots]\ndir = "{place}"\n')
    with running("heron", options=("--config", str(file), "--data", data)) as heron:
        until(lambda: unfinished(place, "heron", 1))
        heron.kill()
    with running("stork", options=("--config", str(file), "--data", data)):
        until(lambda: not unfinished(place, "heron", 1))
    assert [line["observer"] for line in lines(place, "heron") if line.get("event") == "started"] == ["heron"]
    events = [line["event"] for line in lines(place, "stork") if "event" in line]
    assert events == ["started", "snapshots", "stopped"]  # "snapshots": the segments were recovered
