"""The rules that all nodes share, as commands read and change them."""

from __future__ import annotations

import os
import time

import click

from mesh.security.ruling import AgreedChange, new_rules
from mesh.sync.client import Client
from mesh.wire.replies import RulesPut, RulesTold, read_result

force = click.option(
    "--force",
    is_flag=True,
    help="Change the rules even if nodes are unreachable; their clients may miss messages.",
)


def told(m: Client) -> RulesTold:
    """Return the shared rules as the node reports them."""
    return read_result(RulesTold, m.call("rules"))


def changed(m: Client, change: AgreedChange, force: bool) -> RulesPut | None:
    """Replace the shared rules of the mesh by `change(rules)`. Return `None` if there is no difference.

    `force` is the option of that name. Raises: KeysRefused if this user is not the admin; LocalError STALE if
    the rules changed meanwhile.
    """
    found, cluster = told(m), m.cluster
    if found.keys and not cluster:  # a socket file: this user's own nodes
        cluster = str(m.call("info")["cluster"])
    new = new_rules(found, change, cluster, os.environ, time.time_ns())
    if new is None:
        return None
    put = read_result(RulesPut, m.call("rules_put", **new.said, force=force))
    new.mark_accepted()
    return put
