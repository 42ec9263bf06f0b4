"""The rules that all nodes share, as the admin of the mesh changes and signs them."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import msgspec

from mesh.errors import KeysRefused
from mesh.local.private import state_dir
from mesh.local.user import user_name
from mesh.mapping.agreed import Agreed, check, packed, unpacked
from mesh.security.joining import admin_seed
from mesh.security.keyfiles import mesh_path, read_mesh
from mesh.security.signing import public_key, sign
from mesh.shared.row import NOBODY, SharedRow
from mesh.wire.limits import RULES
from mesh.wire.replies import RulesTold

AgreedChange = Callable[[Agreed], Agreed]


def next_list(found: RulesTold, change: AgreedChange) -> Agreed | None:
    """What is to count, of what a node has told; None: it says what it said before. LocalError."""
    before = unpacked(found.value)
    after = change(before)
    if after.nodes == before.nodes:
        return None
    after = msgspec.structs.replace(after, base=found.stamp, by=_me())
    check(after)
    return after


def put(found: RulesTold, agreed: Agreed, cluster: str, environ: Mapping[str, str]) -> dict[str, Any]:
    """What the verb `rules_put` is told, so that it counts. Where there are keys, `cluster` is the mesh whose
    admin signs it: KeysRefused for who is not that."""
    row = SharedRow(RULES, "", max(found.next, found.stamp + 1), packed(agreed), NOBODY, 0)
    if found.keys:
        seed = _seed(cluster, found.admin, environ)
        row = row.signed(public_key(seed), partial(sign, seed))
    return {"row": msgspec.to_builtins(row, builtin_types=(bytes,)), "was": found.stamp}


def _seed(cluster: str, wanted: bytes, environ: Mapping[str, str]) -> bytes:
    """The key with which this user signs. KeysRefused if he has none, or another than the node knows."""
    state = state_dir(environ)
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
    text = f"{user_name() or os.geteuid()}@{socket.gethostname()}"
    return "".join(c if " " <= c <= "~" else "?" for c in text)[:255]
