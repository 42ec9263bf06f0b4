"""Changes of the rules that all nodes share, signed by the admin of the mesh."""

# Law 1: a list is made only from one that the admin has signed, whatever a node reports.
# Law 2: a list is never made from one older than this user has seen: a node may withhold newer ones.
# Law 3: the timestamp of a list is not in the future unless that of the previous list is. Otherwise a node
# could withhold the list and publish it after later changes, which it would replace.

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from mesh.errors import KeysRefused, LocalError
from mesh.local.private import state_dir
from mesh.local.user import user_name
from mesh.mapping.agreed import Agreed, check, packed, unpacked
from mesh.printable import typed
from mesh.security.joining import admin_seed
from mesh.security.keyfiles import mesh_path, read_mesh, rules_path, rules_seen, write_rules_seen
from mesh.security.signing import public_key, sign, verify
from mesh.shared.row import NOBODY, SharedRow
from mesh.snapshots.moment import iso
from mesh.wire.limits import RULES
from mesh.wire.replies import RulesTold

AgreedChange = Callable[[Agreed], Agreed]

ELSEWHERE = "The rules are unchanged. Use another node, and ask the operator of this one."
EARLIER = "The rules are unchanged. The node may run an earlier release: use another node, or upgrade it."


@dataclass(frozen=True, slots=True)
class Admin:
    """The current user as the admin of a mesh."""

    cluster: str
    state: Path
    seed: bytes = field(repr=False)

    @property
    def key(self) -> bytes:
        return public_key(self.seed)

    def signed(self, row: SharedRow) -> SharedRow:
        return row.signed(self.key, partial(sign, self.seed))

    def sees(self, stamp: int) -> None:
        """Record that a list was seen, so that no change is based on an older one."""
        write_rules_seen(self.state, self.cluster, self.key, stamp)

    def check_list(self, found: RulesTold) -> None:
        """Check the signature of the list, and that it is not outdated, and record it as seen.

        Raises: KeysRefused, LocalError.
        """
        if (found.stamp or found.value) and not is_signed(found, self.key):
            what = f"The node does not prove that the admin of {self.cluster!r} signed its rules."
            hint = ELSEWHERE if found.signature else EARLIER
            raise KeysRefused(what, hint=hint, code="WRONG_SIGNATURE")
        seen = rules_seen(self.state, self.cluster, self.key)
        if found.stamp < seen:
            its = f"rules of {iso(found.stamp)}" if found.stamp else "no rules"
            path = typed(rules_path(self.state, self.cluster))
            what = (
                f"The node has {its}, but newer ones, of {iso(seen)}, were seen here; the "
                "rules are unchanged."
            )
            again = "Try again in a moment, or at another node."
            hint = f"{again} If all nodes have lost the newer rules: rm {path}"
            raise LocalError(what, hint=hint, code="STALE")
        self.sees(found.stamp)


@dataclass(frozen=True, slots=True)
class NewRules:
    """A new list, which replaces the one with the timestamp `was`."""

    row: SharedRow
    was: int
    admin: Admin | None  # has signed it; None in a mesh without keys

    @property
    def said(self) -> dict[str, Any]:
        """The arguments of the verb `rules_put`."""
        return {"row": msgspec.to_builtins(self.row, builtin_types=(bytes,)), "was": self.was}

    def mark_accepted(self) -> None:
        if self.admin is not None:
            self.admin.sees(self.row.stamp)


def new_rules(
    found: RulesTold, change: AgreedChange, cluster: str, environ: Mapping[str, str], now: int
) -> NewRules | None:
    """Return the new list after `change` of `found`, the list of a node, or None if nothing changes.

    `change` returns the changed list. `cluster` is the mesh whose admin signs, "" for a mesh without keys.
    `now` is in ns since 1970. Raises LocalError, and KeysRefused if this user is not the admin or the list is
    not signed by the admin.
    """
    admin = _admin(cluster, found.admin, environ) if cluster else None
    if admin is not None:
        admin.check_list(found)
    agreed = next_list(found, change)
    if agreed is None:
        return None
    stamp = next_stamp(found, now if admin is not None else found.next)
    row = SharedRow(RULES, "", stamp, packed(agreed), NOBODY, 0)
    return NewRules(row if admin is None else admin.signed(row), found.stamp, admin)


def is_signed(found: RulesTold, key: bytes) -> bool:
    row = SharedRow(RULES, "", found.stamp, found.value, NOBODY, 0, key)
    return verify(key, found.signature, row.text)


def next_list(found: RulesTold, change: AgreedChange) -> Agreed | None:
    """Return the changed list, or None if nothing changes. Raises: LocalError."""
    before = unpacked(found.value)
    after = change(before)
    if after.nodes == before.nodes:
        return None
    after = msgspec.structs.replace(after, base=found.stamp, by=_me())
    check(after)
    return after


def next_stamp(found: RulesTold, now: int) -> int:
    """Return the timestamp that the node proposes, at most `now` but above that of the current list."""
    return max(found.stamp + 1, min(found.next, now))


def _admin(cluster: str, wanted: bytes, environ: Mapping[str, str]) -> Admin:
    """Return this user as admin. Raises: KeysRefused, without a key or if the node has another admin."""
    state = state_dir(environ)
    file = read_mesh(state, cluster)
    if file is None:
        what = f"This user has no keys for mesh {cluster!r}: {mesh_path(state, cluster)} does not exist."
        raise KeysRefused(
            what, hint="Run `mesh join` with a token of the mesh, then with a token of role admin."
        )
    seed = admin_seed(state, file)
    if wanted and wanted != file.admin:
        what = f"The node's keys of mesh {cluster!r} name another admin than this user's keys."
        hint = "Run this as the user who has the key of the node's admin."
        raise KeysRefused(what, hint=hint, code="NOT_ADMIN")
    return Admin(cluster, state, seed)


def _me() -> str:
    """Return the author's name for display. The name proves nothing."""
    text = f"{user_name() or os.geteuid()}@{socket.gethostname()}"
    return "".join(c if " " <= c <= "~" else "?" for c in text)[:255]
