"""Where a client is that has moved from the node in its name."""

from __future__ import annotations

import pytest

from mesh.kernel.context.leaving import Step
from tests.mesh.features.drain.node.emptied import Emptied, home, play

FORMS = ("{name}", "/node/heron/client/joe/{number}", "client/joe/session/{number}", "client/joe/{number}")


@pytest.mark.parametrize("is_held", [True, False], ids=["held", "released"])
@pytest.mark.parametrize("at", ["heron", "stork"])
def test_a_moved_session_is_found_where_it_is_connected(is_held: bool, at: str) -> None:
    async def scenario(it: Emptied) -> None:
        joe = it.m.connect("heron", client="joe")
        async with joe, joe.subscribe("k", domain="NEWS"):
            name, number = joe.name, joe.name.rpartition("/")[2]
            if is_held:  # heron keeps the session until this master has released it
                it.m.kill("ibis")
            it.ask("heron", "begin")
            await it.until(lambda: home(joe) in ("stork", "ibis"))
            await it.until(lambda: it.step("heron") is Step.DONE)
            it.ask("heron", "cancel")
            assert bool(it.parts("heron").sessions.by_stream) is is_held
            async with it.m.connect(at, client="ann") as ann:
                for form in FORMS:
                    place = await it.outcome(ann.where(form.format(name=name, number=number)))
                    found = [(row.node, row.state) for row in place.sightings]
                    assert found == [(home(joe), "connected")], form
                why = await it.outcome(ann.call("why", kind="client", text=name))
                codes = {each["code"] for each in why["reasons"]}
                assert "CLIENT_HERE" in codes and "CLIENT_AWAY" not in codes

    play(scenario)
