"""The rules that all nodes share, as commands read, change and sign them."""

from __future__ import annotations

import getpass
import os
import socket
from collections.abc import Callable
from functools import partial
from typing import Any

import click
import msgspec

from mesh.errors import KeysRefused
from mesh.local.private import state_dir
from mesh.mapping.agreed import Agreed, check, packed, unpacked
from mesh.security.joining import admin_seed
from mesh.security.keyfiles import mesh_path, read_mesh
from mesh.security.signing import public_key, sign
from mesh.shared.row import NOBODY, SharedRow
from mesh.sync.client import Client
from mesh.wire.limits import RULES
from mesh.wire.replies import RulesPut, RulesTold, read_result

AgreedChange = Callable[[Agreed], Agreed]
force = click.option(
    "--force", is_flag=True, help="Also while nodes are away, whose clients may miss something."
)


def told(m: Client) -> RulesTold:
    """What a node says of them."""
    return read_result(RulesTold, m.call("rules"))


def changed(m: Client, change: AgreedChange, force: bool) -> RulesPut | None:
    """Have another list count in the whole mesh; None: it says what it said before. KeysRefused for who is
    not the admin; LocalError STALE if somebody else was quicker."""
    found = told(m)
    before = unpacked(found.value)
    after = change(before)
    if after.nodes == before.nodes:
        return None
    after = msgspec.structs.replace(after, base=found.stamp, by=_me())
    check(after)
    row = SharedRow(RULES, "", max(found.next, found.stamp + 1), packed(after), NOBODY, 0)
    if found.keys:
        seed = _seed(str(m.call("info")["cluster"]), found.admin)
        row = row.signed(public_key(seed), partial(sign, seed))
    said: dict[str, Any] = {"row": msgspec.to_builtins(row, builtin_types=(bytes,)), "was": found.stamp}
    return read_result(RulesPut, m.call("rules_put", **said, force=force))


def _seed(cluster: str, wanted: bytes) -> bytes:
    """The key with which this user signs. KeysRefused if he has none, or another than the node knows."""
    state = state_dir(os.environ)
    file = read_mesh(state, cluster)
    if file is None:
        what = f"There are no keys for {cluster!r} here: {mesh_path(state, cluster)} is missing."
        raise KeysRefused(what, hint="Type `mesh join`, once for the mesh and once for its admin.")
    seed = admin_seed(state, file)
    if wanted and wanted != file.admin:
        what = f"That node goes by another admin of {cluster!r} than these keys say."
        raise KeysRefused(what, hint="Which mesh is it? See `mesh info`.", code="NOT_ADMIN")
    return seed


def _me() -> str:
    """Who changes them, for people: nothing is proved by it."""
    text = f"{getpass.getuser()}@{socket.gethostname()}"
    return "".join(c if " " <= c <= "~" else "?" for c in text)[:255]
