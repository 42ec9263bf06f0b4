"""Rules that are changed by messages under `__sys__cluster.node.master[NAME]`."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import pytest

import mesh
from mesh.mapping.agreed import unpacked
from mesh.reserved import INFO, MASTER, node_at, ruled_node
from tests.mesh.meshes import in_memory, passing

NEWS = "<clusternode id='b'><master><key queryType='DOMAIN' domain='NEWS'/></master></clusternode>"

AT = (
    "<clusternode id='b'><connect><qos><address type='SOCKET'>10.0.0.5:7710</address></qos></connect>"
    "</clusternode>"
)


async def follows(m: Any, node: str, wanted: str) -> str:
    """Wait until the rules of `node` that a client reads contain `wanted`, and return their text."""
    async with m.subscribe(f"{MASTER}[{node}]") as rules:
        async for message in rules:
            if wanted in message.text:
                return str(message.text)
    raise AssertionError("it has ended")


def test_what_is_published_there_counts_in_the_whole_mesh_and_is_read_there() -> None:
    async def scenario() -> None:
        async with in_memory("a", "b", "c") as m, m.connect("a") as joe, m.connect("c") as ann:
            assert (await passing(m, joe.publish(f"{MASTER}[b]", NEWS))).ok
            text = await follows(ann, "b", "NEWS")
            sent = await joe.final(await joe.publish("k", b"1", domain="NEWS"))
            assert sent.ok and (await joe.get("k", domain="NEWS"))[0].route[-1].node == "b"
            again = await passing(m, ann.publish(f"{MASTER}[b]", text))
            assert again.ok, "what is read can be published"
            assert await passing(m, ann.erase(f"{MASTER}[b]")) == [f"{MASTER}[b]"]
            assert await ann.erase(f"{MASTER}[b]") == await ann.erase(f"{MASTER}[nobody]") == []
            told = await joe.call("rules")
            assert "NEWS" not in str(told["value"])

    asyncio.run(scenario())


def test_nobody_is_accused_of_what_he_was_asked_by_the_rules_of_before() -> None:
    async def scenario() -> None:
        async with in_memory("a", "b", "c") as m, m.connect("a") as joe, m.connect("c") as ann:
            assert (await passing(m, joe.publish(f"{MASTER}[b]", NEWS))).ok
            async with joe.subscribe("k", domain="NEWS") as here, ann.subscribe("k", domain="NEWS") as there:
                for n in range(3):
                    await joe.publish("k", b"%d" % n, domain="NEWS")
                for ear in (here, there):
                    assert [(await anext(ear)).content for _ in range(3)] == [b"0", b"1", b"2"]
            assert m.metric("a", "unasked") + m.metric("c", "unasked") > 0, "each is a way for the other"
            for name in ("a", "c"):
                async with m.connect(name) as reader:
                    told = await reader.call("events")
                    assert "did not request" not in str(told)

    asyncio.run(scenario())


NO_RULES: list[tuple[str, Any, str]] = [
    (f"{MASTER}[b]", b"<clusternode id='c'/>", "BAD_CONFIG"),
    (f"{MASTER}[b]", b"", "BAD_CONFIG"),
    (f"{MASTER}[b]", b"\xff", "BAD_CONFIG"),
    (f"{MASTER}[b]", "<clusternode id='b'><masters/></clusternode>", "BAD_CONFIG"),
    (f"{MASTER}[b]", "<!DOCTYPE x [<!ENTITY e 'e'>]><clusternode id='b'>&e;</clusternode>", "BAD_CONFIG"),
    (f"{MASTER}[b]", b"<clusternode id='b'>" + b" " * 70_000 + b"</clusternode>", "BAD_CONFIG"),
    (f"{MASTER}[b]", {"id": "b"}, "BAD_CONFIG"),
    (f"{MASTER}[]", NEWS, "RESERVED"),
    (f"{MASTER}[b", NEWS, "RESERVED"),
    (MASTER, NEWS, "RESERVED"),
    ("__sys__cluster.node.state[b]", NEWS, "RESERVED"),
    (f"{INFO}[b]", NEWS, "BAD_CONFIG"),  # rules
    (f"{INFO}[b]", "<clusternode id='b'/>", "BAD_CONFIG"),  # no address
    (f"{INFO}[c]", AT, "BAD_CONFIG"),  # of another node
    (f"{INFO}[b]", AT.replace("10.0.0.5", "a/b"), "BAD_CONFIG"),
    (f"{INFO}[b]", AT.replace("<address", "<address type='SOCKET'>h:1</address><address") * 2, "BAD_CONFIG"),
    (INFO, AT, "RESERVED"),
]  # fmt: skip


def test_what_is_no_rule_of_that_node_changes_nothing() -> None:
    async def scenario() -> None:
        async with in_memory("a", "b") as m, m.connect("a") as joe:
            for key, content, code in NO_RULES:
                with pytest.raises(mesh.PublishRefused) as refused:
                    await joe.publish(key, content)
                assert refused.value.code == code, (key, content)
                with pytest.raises(mesh.PublishRefused, match="RESERVED"):
                    joe.post(key, content)
            assert (await joe.call("rules"))["stamp"] == 0

    asyncio.run(scenario())


def test_the_addresses_of_a_node_are_set_for_all_nodes_read_and_withdrawn_beside_its_rules() -> None:
    async def scenario() -> None:
        async with in_memory("a", "b", "c") as m, m.connect("a") as joe, m.connect("c") as ann:
            [measured] = await ann.get(f"{INFO}[b]")
            assert "10.0.0.5" not in measured.text
            assert (await passing(m, joe.publish(f"{MASTER}[b]", NEWS))).ok
            async with ann.subscribe(f"{INFO}[b]", initial=False) as heard:
                assert (await passing(m, joe.publish(f"{INFO}[b]", AT))).ok
                assert "socket://10.0.0.5:7710" in (await anext(heard)).text
                [read] = await ann.get(f"{INFO}[b]")
                assert (await passing(m, ann.publish(f"{INFO}[b]", read.text))).ok, "what is read can be set"
                rows = await of_node(m, "c")
                assert [row["address"] for row in rows if row["kind"] == "mesh"] == ["tcp://10.0.0.5:7710"]
                assert not any(row["kind"] == "mesh" for row in await of_node(m, "b")), "not to itself"
                assert await passing(m, joe.erase(f"{INFO}[b]")) == [f"{INFO}[b]"]
                assert "10.0.0.5" not in (await anext(heard)).text
            assert await joe.erase(f"{INFO}[b]") == []
            assert not any(row["kind"] == "mesh" for row in await of_node(m, "c"))
            assert "NEWS" in str((await joe.call("rules"))["value"]), "the rules are still there"
            with pytest.raises(mesh.BadArgument, match="domain="):
                await joe.publish(f"{INFO}[b]", AT, domain="D")

    asyncio.run(scenario())


async def of_node(m: Any, name: str) -> list[dict[str, Any]]:
    """Return the addresses that a node dials."""
    async with m.connect(name) as reader:
        return list((await reader.call("peers"))["peers"])


def test_a_key_names_a_node_only_if_it_is_whole() -> None:
    assert node_at(f"{INFO}[heron]") == "heron" and ruled_node(f"{INFO}[heron]") == ""
    assert [node_at(key) for key in (INFO, f"{INFO}[heron", f"{MASTER}[heron]", 5, None)] == [""] * 5


@pytest.mark.parametrize("error", [KeyError("uid not found: 1234"), OSError("No username set")])
def test_a_user_without_a_name_changes_them_too(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    """The case is a container whose user is not in passwd."""

    def nobody() -> str:
        raise error

    monkeypatch.setattr("getpass.getuser", nobody)

    async def scenario() -> None:
        async with in_memory("a", "b") as m, m.connect("a") as joe:
            assert (await passing(m, joe.publish(f"{MASTER}[b]", NEWS))).ok
            by = unpacked((await joe.call("rules"))["value"]).by
            assert by.startswith(f"{os.geteuid()}@")

    asyncio.run(scenario())


def test_what_rules_cannot_be_is_refused_and_changes_nothing() -> None:
    """Rules have no domain, hold everywhere, and do not expire."""

    async def scenario() -> None:
        async with in_memory("a", "b") as m, m.connect("a") as joe:
            options: list[dict[str, Any]] = [{"domain": "STOCK"}, {"local_only": True}, {"expiry": 60.0}]
            for option in options:
                with pytest.raises(mesh.BadArgument, match=next(iter(option))):
                    await joe.publish(f"{MASTER}[b]", NEWS, **option)
            with pytest.raises(mesh.BadArgument, match="domain"):
                await joe.erase(f"{MASTER}[b]", domain="STOCK")
            assert (await joe.call("rules"))["stamp"] == 0
            assert (await passing(m, joe.publish(f"{MASTER}[b]", NEWS, domain="", local_only=False))).ok

    asyncio.run(scenario())


def test_a_node_that_cannot_be_is_named() -> None:
    async def scenario() -> None:
        async with in_memory("a") as m, m.connect("a") as joe:
            with pytest.raises(mesh.PublishRefused, match="BAD_NAME"):
                await joe.erase(f"{MASTER}[a b]")

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("key", "node"),
    [(f"{MASTER}[b]", "b"), (f"{MASTER}[]", ""), (f"x{MASTER}[b]", ""), (f"{MASTER}[b]/", ""), (None, "")],
)
def test_the_topic_names_the_node(key: Any, node: str) -> None:
    assert ruled_node(key) == node
