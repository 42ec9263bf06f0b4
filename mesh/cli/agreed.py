"""The rules that all nodes share, as commands read and change them."""

from __future__ import annotations

import os
import time

import click

from mesh.security.ruling import AgreedChange, new_rules
from mesh.sync.client import Client
from mesh.wire.replies import RulesPut, RulesTold, read_result

force = click.option(
    "--force", is_flag=True, help="Also while nodes are away, whose clients may miss something."
)


def told(m: Client) -> RulesTold:
    """What a node says of them."""
    return read_result(RulesTold, m.call("rules"))


def changed(m: Client, change: AgreedChange, force: bool) -> RulesPut | None:
    """Have another list count in the whole mesh; None: it says what it said before. KeysRefused for who is
    not the admin; LocalError STALE if somebody else was quicker."""
    found, cluster = told(m), m.cluster
    if found.keys and not cluster:  # over a file: nodes there are this user's own
        cluster = str(m.call("info")["cluster"])
    new = new_rules(found, change, cluster, os.environ, time.time_ns())
    if new is None:
        return None
    put = read_result(RulesPut, m.call("rules_put", **new.said, force=force))
    new.count()
    return put
