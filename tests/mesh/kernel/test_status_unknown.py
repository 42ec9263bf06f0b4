"""Messages that wait for a node outside the list of nodes are reported."""

from mesh.discovery.member import NodeLife
from mesh.kernel.peers.introductions import to_wire
from mesh.wire.commands import Call, Rumours
from tests.mesh.kernel.masters import RUGBY, cluster


def test_what_waits_for_one_that_others_called_dead_before_it_was_met_is_in_the_list() -> None:
    c = cluster("heron", "frodo", "bilbo")
    heron, frodo, bilbo = c["heron"], c["frodo"], c["bilbo"]
    frodo.kill()
    c.net.run(5)
    dead = heron.core.parts.neighbours.membership._table.records[frodo.uuid].rumour(NodeLife.DEAD, heron.uuid)
    c.client("bilbo", "out").publish("k", b"", domain=RUGBY, persistent=True)
    c.net.run(3)
    bilbo.restart()
    c.net.until(lambda: "heron" in bilbo.alive)
    heron.core.parts.context.out.send(
        heron.core.parts.neighbours.peers[bilbo.uuid].control, Rumours(to_wire((dead,)))
    )
    heron._carry_out_all()
    c.net.run(1)
    call = c.client("bilbo", "joe").ask(lambda request: Call(request, "ls", {}))
    c.net.until(lambda: call.reply)
    assert call.reply is not None
    rows = {row["name"]: row["tailback"]["messages"] for row in call.reply.value["nodes"]}
    assert rows.get("frodo", 0) + call.reply.value["unknown"]["messages"] == 1
