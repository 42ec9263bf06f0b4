"""A1, A13, A15 and A34: rules for domains and for messages without one, on nodes in one loop."""

import asyncio

from tests.mesh.meshes import take
from tests.mesh.scenarios.hearing import hearing, nothing_more
from tests.mesh.scenarios.topology import A0, RUGBY, STOCK, a0, loop_of

K = "key"


def test_the_five_nodes_are_linked_as_their_files_say_and_know_the_master_of_each_domain() -> None:
    ways = {
        ("bilbo", RUGBY): ["bilbo", "frodo", "heron"],
        ("bilbo", STOCK): ["bilbo", "frodo", "heron", "avalon"],
        ("frodo", STOCK): ["frodo", "heron", "avalon"],
        ("golan", RUGBY): ["golan", "heron"],
        ("golan", STOCK): ["golan"],
        ("avalon", RUGBY): ["avalon", "heron"],
        ("heron", STOCK): ["heron", "avalon"],
        ("bilbo", ""): ["bilbo"],
    }

    async def scenario() -> None:
        async with loop_of(A0) as c:
            for (node, domain), nodes in ways.items():
                async with c.connect(node) as m:
                    steps = await m.route(K, domain=domain)
                    assert [step["node"] for step in steps] == nodes
                    assert [step["decision"] for step in steps] == [*["forward"] * (len(nodes) - 1), "here"]
                    await m.publish(f"{node}{domain}", b"x", domain=domain)
                async with c.connect(nodes[-1]) as master:
                    [message] = await master.get(f"{node}{domain}", domain=domain)
                    assert [hop.node for hop in message.route] == nodes
            links = {name: c.metric(name, "data_links") for name in A0}
            assert links == {"heron": 3, "avalon": 1, "golan": 1, "frodo": 2, "bilbo": 1}

    asyncio.run(scenario())


# --- erase ----------------------------------------------------------------------------------------------


def test_A15_a_node_that_has_the_topic_remembers_its_domain() -> None:
    async def scenario() -> None:
        async with loop_of(a0("heron", "avalon", "frodo", "bilbo")) as c:
            async with (
                c.connect("bilbo") as b,
                c.connect("avalon") as out,
                c.connect("heron") as h,
                hearing(b, K, RUGBY) as ear,
                hearing(out, K, RUGBY) as own,
            ):
                await h.publish(K, b"We win", domain=RUGBY)
                await ear.heard(1)
                await own.heard(1)
                assert await out.erase(K) == [K]
                await nothing_more(h, ear, own, domain=RUGBY)
                assert [m.state for m in ear.messages] == [m.state for m in own.messages] == ["OK", "ERASED"]
                assert await h.get(K) == []

    asyncio.run(scenario())


# --- messages without a domain --------------------------------------------------------------------------


def two(n_accepts: bool, m_accepts: bool) -> dict[str, str]:
    """Return the files of M, and of N, which knows M.

    Each is master of a domain, and accepts messages without a domain or not.
    """

    def rule(name: str, more: str) -> str:
        return f'[[nodes.{name}.master]]\ndomains = ["OF_{name}"]\n{more}\n'

    m_rule = rule("M", f"accept_other_default = {str(m_accepts).lower()}")
    n_rule = rule("N", f"accept_default = {str(n_accepts).lower()}")
    head = 'default_scope = "local"\nlinks = "configured"\n'
    return {
        "M": f"{head}\n[nodes.M]\n{m_rule}\n[nodes.N]\n",
        "N": f'{head}\n[nodes.N]\n{n_rule}\n[nodes.M]\naddress = "{{M}}"\n{m_rule}',
    }


def test_A34_what_nobody_accepts_waits_until_somebody_does() -> None:
    async def scenario() -> None:
        refused, accepted = two(False, False), two(False, True)
        async with loop_of(refused) as c:
            async with c.connect("N", client="n") as n:
                published = await n.publish(K, b"x", persistent=True)
                assert published.state == "FORWARD_WARNING"
                async with c.connect("M") as m:
                    assert await m.get(K) == []
                await c.stop("N")
                await c.start("N", accepted["N"])
                assert (await n.final(published)).ok
            async with c.connect("M") as m, m.subscribe(K) as subscription:
                assert [(x.content, x.state) for x in await take(subscription, 1)] == [(b"x", "INITIAL")]
            assert (c.metric("M", "published"), c.metric("N", "published")) == (1, 0)

    asyncio.run(scenario())


def test_A34_what_waits_for_a_node_leaves_when_the_node_appears() -> None:
    async def scenario() -> None:
        files = two(False, True)
        n_alone = files["N"].replace('address = "{M}"\n', "")
        m_with_n = files["M"].replace("[nodes.N]\n", '[nodes.N]\naddress = "{N}"\n')
        async with loop_of({"N": n_alone}) as c, c.connect("N") as n:
            published = await n.publish(K, b"x")
            assert published.state == "FORWARD_WARNING" and "waits at N for M" in published.note
            await c.start("M", m_with_n)
            final = await n.final(published)
            assert (final.state, final.id) == ("OK", published.id)
            assert c.metric("M", "published") == 1

    asyncio.run(scenario())
