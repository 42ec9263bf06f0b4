"""Issue 42: `kill -9` of the node between a slave and its master, on processes."""

import asyncio

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
