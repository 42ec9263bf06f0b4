"""Issue 42: `kill -9` of the node between a slave and its master, on processes."""

import asyncio
from contextlib import AsyncExitStack

import pytest

from tests.mesh.scenarios.hearing import hearing
from tests.mesh.scenarios.topology import TREE, processes_of

NEWS = "NEWS"
RULE = '[[nodes.{}.master]]\ndomains = ["NEWS"]\n'
ROOT = f"{TREE}[nodes.root]\n{RULE.format('root')}"
INNER = f'{TREE}[nodes.root]\naddress = "{{root}}"\n{RULE.format("root")}'
PARENTS = f'[nodes.a]\naddress = "{{a}}"\n{RULE.format("a")}stratum = 1\n[nodes.b]\naddress = "{{b}}"\n'
LEAF = f"{TREE}[node]\nadopt_parents = true\n{PARENTS}[nodes.leaf]\n"
FILES = {"root": ROOT, "a": f"{INNER}[nodes.leaf]\n", "b": f"{INNER}[nodes.leaf]\n", "leaf": LEAF}
COUNT = 60


@pytest.mark.smoke
def test_42_a_slave_of_a_killed_node_gets_all_in_order_through_another() -> None:
    async def scenario() -> None:
        async with (
            c.connect("root", client="ann") as ann,
            c.connect("leaf", client="joe") as joe,
            hearing(joe, "today", NEWS) as heard,
        ):
            for number in range(COUNT):
                if number == COUNT // 3:
                    await asyncio.to_thread(c["a"].kill)
                assert (await ann.publish("today", b"%d" % number, domain=NEWS, persistent=True)).ok
            await heard.heard(COUNT)
            assert heard.contents == [b"%d" % number for number in range(COUNT)]
            assert [hop.node for hop in heard.messages[-1].route] == ["root", "b", "leaf"]
            assert (await joe.publish("today", b"mine", domain=NEWS, persistent=True)).ok
            await heard.heard(COUNT + 1)
            assert "NEWS: the parent is now b, because a is dead" in c["leaf"].log

    with processes_of(FILES) as c:
        asyncio.run(scenario())


INNER_NODES, PUBLISHERS = ("a", "b"), ("root", "a1", "b2")
LEAVES = {"a1": "a", "a2": "a", "b1": "b", "b2": "b"}  # parent by leaf


def file_of_leaf(parent: str) -> str:
    sections = "".join(f'[nodes.{name}]\naddress = "{{{name}}}"\n' for name in INNER_NODES if name != parent)
    rule = f'[nodes.{parent}]\naddress = "{{{parent}}}"\n{RULE.format(parent)}stratum = 1\n'
    return f"{TREE}[node]\nadopt_parents = true\n{sections}{rule}"


SEVEN = {
    "root": ROOT,
    **dict.fromkeys(INNER_NODES, INNER + "".join(f"[nodes.{leaf}]\n" for leaf in LEAVES)),
    **{leaf: file_of_leaf(parent) for leaf, parent in LEAVES.items()},
}


@pytest.mark.slow
def test_42_the_leaves_of_a_tree_of_seven_go_on_while_each_inner_node_is_killed_in_turn() -> None:
    async def scenario() -> None:
        async with AsyncExitStack() as stack:
            clients = {
                name: await stack.enter_async_context(c.connect(name, client=f"at-{name}"))
                for name in ("root", *LEAVES)
            }
            ears = [await stack.enter_async_context(hearing(clients[leaf], "today", NEWS)) for leaf in LEAVES]
            for killed in ("", *INNER_NODES):
                if killed:
                    await asyncio.to_thread(c[killed].kill)
                for number in range(COUNT):
                    for name in PUBLISHERS:
                        content = f"{name} {killed}{number}".encode()
                        await clients[name].publish("today", content, domain=NEWS, persistent=True)
                sent.extend(f"{killed}{number}" for number in range(COUNT))
                for ear in ears:
                    await ear.heard(len(PUBLISHERS) * len(sent))
                if killed:
                    await asyncio.to_thread(c.start, killed, SEVEN[killed])
            for ear in ears:
                words = [content.decode().split() for content in ear.contents]
                for name in PUBLISHERS:
                    assert [number for who, number in words if who == name] == sent, name

    sent: list[str] = []
    with processes_of(SEVEN) as c:
        asyncio.run(scenario())
        for leaf, parent in LEAVES.items():
            assert f"because {parent} is dead" in c[leaf].log, leaf
