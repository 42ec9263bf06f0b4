"""Real nodes with keys obey rules that their admin has signed, and no others."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from functools import partial
from typing import Any

import pytest
from msgspec import to_builtins
from msgspec.structs import replace

import mesh
from mesh.features.rules import shared_rules as sharedrules
from mesh.mapping.agreed import Agreed, AgreedNode, packed
from mesh.mapping.rules import Rule
from mesh.reserved import MASTER
from mesh.security.keyfiles import admin_path, write_admin, write_mesh
from mesh.security.signing import public_key, sign
from mesh.shared.row import NOBODY, SharedRow
from mesh.wire.limits import RULES
from mesh.wire.replies import RulesTold
from tests.mesh.meshes import Mesh, eventually
from tests.mesh.running import LIMIT
from tests.mesh.security.keyed import at, events, mesh_file, node, user

pytestmark = pytest.mark.slow

SEED = b"a" * 32
NEWS = Rule("heron", domains=("NEWS",))


def test_what_the_admin_signs_counts_and_nobody_elses_word_does() -> None:
    async def main() -> None:
        keys = replace(mesh_file("test"), admin=public_key(SEED))
        with user(keys) as (state, environ):
            write_mesh(state, keys)
            write_admin(state, "test", SEED)

            def run(*words: str) -> subprocess.CompletedProcess[str]:
                command = [sys.executable, "-m", "mesh", *words, "--url", "heron"]
                return subprocess.run(command, env=environ, capture_output=True, text=True, timeout=LIMIT)

            async with (
                node("heron", environ, "test") as heron,
                node("bilbo", environ, "test", node__peers=[at(heron)]) as bilbo,
            ):
                both = (heron, bilbo)
                made = Mesh(environ, {"heron": heron, "bilbo": bilbo})
                said = await asyncio.to_thread(run, "rule", "set", "heron", "--domain", "NEWS")
                assert said.returncode == 0, said.stderr
                await eventually(lambda: all(n.core.parts.mapping.rules == (NEWS,) for n in both))
                async with made.connect("bilbo") as b:
                    published = await b.publish("k", b"1", domain="NEWS", persistent=True)
                    assert (await b.final(published)).state == "OK"
                    other = Agreed({"bilbo": AgreedNode((Rule("bilbo", domains=("NEWS",)),))})
                    told = await b.call("rules")
                    row = SharedRow(RULES, "", told["next"], packed(other), NOBODY, 0)
                    forged = row.signed(public_key(b"x" * 32), partial(sign, b"x" * 32))
                    for each in (row, forged, replace(forged, key=keys.admin)):
                        with pytest.raises(Exception, match="WRONG_SIGNATURE"):
                            plain = to_builtins(each, builtin_types=(bytes,))
                            await b.call("rules_put", row=plain, was=told["stamp"], force=True)
                    to_bilbo = "<clusternode id='bilbo'><master><key domain='SPORTS'/></master></clusternode>"
                    assert (await b.publish(f"{MASTER}[bilbo]", to_bilbo)).ok
                    await eventually(lambda: all(len(n.core.parts.mapping.rules) == 2 for n in both))
                    assert await b.erase(f"{MASTER}[bilbo]") == [f"{MASTER}[bilbo]"]
                    await eventually(lambda: all(n.core.parts.mapping.rules == (NEWS,) for n in both))
                    admin_path(state, "test").unlink()
                    with pytest.raises(mesh.PublishRefused, match="NOT_ADMIN"):
                        await b.publish(f"{MASTER}[bilbo]", to_bilbo)
                    with pytest.raises(mesh.PublishRefused, match="NOT_ADMIN"):
                        await b.erase(f"{MASTER}[heron]")
                said = await asyncio.to_thread(run, "rule", "rm", "heron")
                assert said.returncode == 2 and "NOT_ADMIN" in said.stderr
                assert all(n.core.parts.mapping.rules == (NEWS,) for n in both)
                assert len(events(bilbo, "rules")) == 3 + 2, "and that somebody has brought some"

    asyncio.run(main())


def test_a_node_that_was_taken_over_has_nothing_signed_that_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """The node reports rules of its own, earlier rules, no rules, or no keys."""
    secret = packed(Agreed({"bilbo": AgreedNode((Rule("bilbo", domains=("SECRET",)),))}))
    of = "<clusternode id='{0}'><master><key domain='{0}'/></master></clusternode>"
    none: dict[str, Any] = {"stamp": 0, "value": b"", "signature": b""}

    async def main() -> None:
        keys = replace(mesh_file("test"), admin=public_key(SEED))
        with user(keys) as (state, environ):
            write_admin(state, "test", SEED)
            async with (
                node("heron", environ, "test") as heron,
                node("bilbo", environ, "test", node__peers=[at(heron)]) as bilbo,
                mesh.connect(at(bilbo), environ=environ) as admin,
            ):
                both = (heron, bilbo)
                await eventually(lambda: all(len(n.core.parts.neighbours.living_peers()) == 1 for n in both))
                assert (await admin.publish(f"{MASTER}[gull]", of.format("gull"))).ok
                before = await admin.call("rules")
                assert (await admin.publish(f"{MASTER}[heron]", of.format("heron"))).ok
                assert await admin.erase(f"{MASTER}[gull]")
                for lies in ({"value": secret}, {"value": secret, "keys": False}, before, none):
                    monkeypatch.setattr(sharedrules, "RulesTold", partial(lying, lies))
                    with pytest.raises(mesh.PublishRefused, match=r"WRONG_SIGNATURE|STALE"):
                        await admin.publish(f"{MASTER}[bilbo]", of.format("bilbo"))
                await eventually(
                    lambda: all(
                        n.core.parts.mapping.rules == (Rule("heron", domains=("heron",)),) for n in both
                    )
                )
                monkeypatch.undo()
                assert (await admin.publish(f"{MASTER}[heron]", of.format("heron"))).ok

    asyncio.run(main())


def lying(lies: dict[str, Any], **said: Any) -> RulesTold:
    """Return the node's report about its rules, with these values replaced."""
    return RulesTold(**said | lies)
