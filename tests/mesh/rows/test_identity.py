"""Rows 50 to 52: names, directories and identities that are doubled or lost.

Row 53, old boots that return, is tested in tests/discovery/test_direct_evidence.py and in
tests/mesh/scenarios/test_strangers.py.
"""

import asyncio
import secrets
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import mesh
from mesh.security.joining import join, new_mesh, token_of
from tests.mesh.rows.traffic import traffic
from tests.mesh.running import RunningNode, running, state_directory, until


@contextmanager
def machines(*names: str) -> Iterator[list[RunningNode]]:
    """Nodes of one mesh with keys, each with directories of its own, as on different machines.

    The first one runs; the others know its address.
    """
    cluster = f"test-{secrets.token_hex(4)}"
    with ExitStack() as stack:
        states = [stack.enter_context(state_directory()) for _ in names]
        token = token_of(new_mesh(states[0], cluster), "node", expires=0)
        nodes: list[RunningNode] = []
        for name, state in zip(names, states, strict=True):
            if nodes:
                join(state, token, "")
            peer = ("--peer", nodes[0].tcp) if nodes else ()
            node = RunningNode(name, state, cluster, ("--bind", "tcp://127.0.0.1:0", "--no-mdns", *peer))
            stack.callback(end, node)
            if not nodes:
                node.start()
            nodes.append(node)
        yield nodes
        for node in nodes:
            assert "Traceback" not in node.log, node.log


def end(node: RunningNode) -> None:
    if node.is_running:
        node.kill()


def rows(at: RunningNode) -> list[dict[str, Any]]:
    """Return the rows of `mesh ls` at that node."""
    with mesh.sync.connect(at.name, environ=at.environ) as m:
        return list(m.call("ls")["nodes"])


def of(at: RunningNode, uuid: str) -> str:
    """Return the state of a node as another one sees it, or "" if it is not known there."""
    return next((str(row["state"]) for row in rows(at) if row["uuid"] == uuid), "")


def told(at: RunningNode, kind: str) -> list[str]:
    with mesh.sync.connect(at.name, environ=at.environ) as m:
        return [event["text"] for event in m.call("events")["events"] if event["kind"] == kind]


def test_row_50_a_newcomer_with_the_name_of_a_live_node_is_refused_and_ends() -> None:
    with machines("heron", "stork", "stork") as (heron, stork, newcomer):
        stork.start()
        until(lambda: of(heron, stork.it["uuid"]) == "alive")
        newcomer.start()
        assert newcomer.wait() != 0
        assert "NAME_IN_USE" in newcomer.log
        assert of(heron, stork.it["uuid"]) == "alive"
        assert of(heron, newcomer.it["uuid"]) in ("", "seen")
        assert stork.is_running


@contextmanager
def copied(starts: int, starts_of_copy: int) -> Iterator[tuple[RunningNode, RunningNode, RunningNode]]:
    """Return heron, stork, and a machine with a copy of stork's directory.

    stork and its copy have started so many times since the copy. All nodes run.
    """
    with machines("heron", "stork", "stork") as (heron, stork, copy):
        stork.start()
        until(lambda: of(heron, stork.it["uuid"]) == "alive")
        stork.kill()
        no_sockets = shutil.ignore_patterns("*.sock", "*.pub")
        shutil.copytree(stork.it["data"], copy.state / "data" / "stork", ignore=no_sockets)
        (copy.state / "data").chmod(0o700)
        start(stork, starts)
        until(lambda: of(heron, stork.it["uuid"]) == "alive")
        start(copy, starts_of_copy)
        assert copy.it["uuid"] == stork.it["uuid"]
        yield heron, stork, copy


def start(node: RunningNode, times: int) -> None:
    for _ in range(times - 1):
        node.start()
        node.kill()
    node.start()


def test_row_51_of_two_that_were_started_as_often_at_least_one_ends_and_says_why() -> None:
    with copied(1, 1) as (heron, stork, copy):
        uuid = stork.it["uuid"]
        until(lambda: not (stork.is_running and copy.is_running))
        ended, other = (copy, stork) if stork.is_running else (stork, copy)
        assert ended.wait() == 2
        assert (
            "CONFLICT" in ended.log and other.tcp in ended.log and "data directory may be a copy" in ended.log
        )
        (other.kill if other.is_running else other.wait)()
        stork.start()
        until(lambda: of(heron, uuid) == "alive" and boot_of(heron, uuid) == stork.it["boot"])


def test_row_51_a_copy_that_was_started_more_often_ends_and_the_original_goes_on() -> None:
    with copied(1, 2) as (heron, stork, copy):
        uuid = stork.it["uuid"]
        until(lambda: not copy.is_running)
        assert copy.wait() == 2 and "CONFLICT" in copy.log and "data directory may be a copy" in copy.log
        assert any("data directory may be a copy" in text for text in told(heron, "conflict"))
        until(lambda: of(heron, uuid) == "alive")
        assert stork.is_running
        assert boot_of(heron, uuid) == stork.it["boot"]


def test_row_51_a_copy_that_was_started_less_often_is_old_news_and_the_original_goes_on() -> None:
    with copied(2, 1) as (heron, stork, copy):
        until(lambda: "OLD_BOOT" in copy.log)
        assert of(heron, stork.it["uuid"]) == "alive"
        assert boot_of(heron, stork.it["uuid"]) == stork.it["boot"] == copy.it["boot"] + 1


def boot_of(at: RunningNode, uuid: str) -> int:
    return next(int(row["boot"]) for row in rows(at) if row["uuid"] == uuid)


def test_row_52_a_name_that_comes_back_with_a_new_identity_is_taken_when_the_old_one_is_dead() -> None:
    with running("heron") as heron, running("stork", beside=heron) as stork:
        old = stork.it["uuid"]
        until(lambda: of(heron, old) == "alive")
        stork.kill()
        until(lambda: of(heron, old) == "dead")
        shutil.rmtree(stork.it["data"])
        stork.start()
        new = stork.it["uuid"]
        assert new != old
        until(lambda: of(heron, new) == "alive")
        assert of(heron, old) in ("", "dead")

        async def scenario() -> None:
            async with (
                mesh.connect("heron", environ=heron.environ) as h,
                mesh.connect("stork", environ=stork.environ) as s,
            ):
                async with traffic({"heron": h, "stork": s}, {"heron": h, "stork": s}) as t:
                    await t.heard_more(20)
                    await t.settled()

        asyncio.run(scenario())
