"""A28, and a domain without a master: the effects of wrong rules, on processes."""

import asyncio
import json

import pytest

import mesh
from mesh.errors import CircularLoop
from tests.mesh.meshes import take
from tests.mesh.scenarios.topology import TREE, Processes, processes_of

SAYS_MASTER = '[[nodes.{}.master]]\ndomains = ["D"]\n'
CIRCLE = {
    "x": f"{TREE}\n[nodes.y]\n{SAYS_MASTER.format('y')}",
    "y": f'{TREE}\n[nodes.x]\naddress = "{{x}}"\n{SAYS_MASTER.format("x")}',
}
LONELY = f'{TREE}\n[nodes.n]\n[[nodes.n.master]]\ndomains = ["KNOWN"]\n'


def forwarded(c: Processes, name: str) -> int:
    with mesh.sync.connect(name, environ=c.environ) as m:
        return int(m.call("info")["metrics"]["forwarded"])


def test_A28_rules_that_run_in_a_circle_are_a_named_error_that_prints_the_path() -> None:
    async def refused(c: Processes) -> CircularLoop:
        async with c.connect("x") as m:
            with pytest.raises(CircularLoop) as caught:
                await m.publish("K", b"x", domain="D", persistent=True)
            return caught.value

    with processes_of(CIRCLE) as c:
        said = c["x"].mesh("pub", "K", "x", "--domain", "D", "--url", "x")
        assert (said.returncode, said.stdout) == (2, "")
        assert "Routing loop: x -> y -> x" in said.stderr
        assert "[CIRCULAR_LOOP]" in said.stderr and "mesh route" in said.stderr
        # No node has received it more than once.
        assert (forwarded(c, "x"), forwarded(c, "y")) == (1, 0)
        assert "x -> y -> x" in str(asyncio.run(refused(c)))

        route = c["x"].mesh("route", "K", "--domain", "D", "--url", "x", "--json")
        steps = json.loads(route.stdout)
        assert [(s["node"], s["decision"], s["next"]) for s in steps] == [
            ("x", "forward", "y"),
            ("y", "refuse", "x"),
        ]
        assert (route.returncode, "x -> y -> x" in steps[1]["why"]) == (1, True)
        for name in "xy":
            found = c["x"].mesh("get", "K", "--domain", "D", "--url", name)
            assert (found.returncode, found.stdout) == (1, ""), found.stderr


@pytest.mark.smoke
def test_what_nobody_is_master_of_waits_through_a_crash_until_a_rule_names_a_master() -> None:
    async def scenario(c: Processes) -> None:
        async with c.connect("n") as m:
            published = await m.publish("K", b"by hand", domain="D", persistent=True)
            assert published.state == "FORWARD_WARNING"
            assert "no rule names a master of domain D" in published.note
            c["n"].kill()
            c.start("n", f"{LONELY}\n{SAYS_MASTER.format('n')}")
            assert (await m.final(published)).ok
            async with m.subscribe("K", domain="D") as subscription:
                assert [x.content for x in await take(subscription, 1)] == [b"by hand"]
                assert await m.erase("K", domain="D") == ["K"]
            assert [x.content for x in await m.get("K2", domain="D")] == [b"typed"]
            assert (await m.call("ls"))["unknown"]["messages"] == 0

    with processes_of({"n": LONELY}) as c:
        said = c["n"].mesh("pub", "K2", "typed", "--domain", "D", "--persistent")
        assert said.returncode == 0
        assert "1 of them wait: waits at n for a master" in said.stderr
        assert "no rule names a master of domain D" in said.stderr
        assert "without a known master: 1 message (" in c["n"].mesh("ls").stdout
        route = c["n"].mesh("route", "K", "--domain", "D")
        assert (route.returncode, "wait for an unknown master" in route.stdout) == (1, True)
        why = c["n"].mesh("why", "topic", "K2", "--domain", "D")
        assert (why.returncode, "no rule names a master" in why.stdout) == (1, True), why.stdout + why.stderr
        asyncio.run(scenario(c))
