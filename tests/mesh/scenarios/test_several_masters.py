"""A36: two masters of one domain, on real nodes, also while one of them is killed."""

import asyncio

import pytest

from tests.mesh.scenarios.hearing import hearing, nothing_more
from tests.mesh.scenarios.topology import RUGBY, TREE, processes_of

MASTER = """
[nodes.{name}]
{address}
[[nodes.{name}.master]]
domains = ["RUGBY_NEWS"]
"""
QUICK = "[timing]\nping = 0.5\nbackoff_max = 0.5\n"


def master(name: str, is_up: bool = True) -> str:
    """Return a section of a file. Nodes that started before have an address."""
    return MASTER.format(name=name, address=f'address = "{{{name}}}"' if is_up else "")


# frodo is a slave of both, and bilbo's next hop to them.
FILES = {
    "heron": TREE + QUICK + master("heron", False) + master("avalon", False),
    "avalon": TREE + QUICK + master("avalon", False) + master("heron"),
    "frodo": TREE + QUICK + master("heron") + master("avalon"),
    "bilbo": f"""{TREE}{QUICK}
[nodes.frodo]
address = "{{frodo}}"
[[nodes.frodo.master]]
domains = ["RUGBY_NEWS"]
stratum = 1
""",
}


@pytest.mark.smoke
def test_while_one_master_is_killed_nothing_is_lost_doubled_or_late() -> None:
    with processes_of(FILES) as c:

        async def scenario() -> None:
            async with c.connect("bilbo") as b, c.connect("bilbo", client="ear") as e:
                async with hearing(e, "K", RUGBY) as ear:
                    assert (await b.publish("K", b"0", domain=RUGBY, persistent=True)).ok
                    c["avalon"].kill()
                    later = [
                        await b.publish("K", b"%d" % n, domain=RUGBY, persistent=True) for n in (1, 2, 3)
                    ]
                    assert {each.state for each in later} == {"FORWARD_WARNING"}
                    assert all("waits at frodo for avalon" in each.note for each in later)
                    await ear.heard(4)  # they come from heron
                    c.start("avalon", FILES["avalon"])
                    assert {(await b.final(each)).state for each in later} == {"OK"}
                    await nothing_more(b, ear, domain=RUGBY)
                    assert ear.contents == [b"0", b"1", b"2", b"3"]
            async with c.connect("avalon") as a:
                assert [m.content for m in await a.get("K", domain=RUGBY)] == [b"3"]

        asyncio.run(scenario())
