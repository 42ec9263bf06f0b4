"""The rules that all nodes share, as commands read and change them."""

from __future__ import annotations

import os

import click

from mesh.security.ruling import AgreedChange, next_list, put
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
    found = told(m)
    after = next_list(found, change)
    if after is None:
        return None
    said = put(found, after, str(m.call("info")["cluster"]) if found.keys else "", os.environ)
    return read_result(RulesPut, m.call("rules_put", **said, force=force))
