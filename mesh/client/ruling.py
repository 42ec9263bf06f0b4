"""Changes the rules or addresses of a node, which a client publishes or erases under that node's topic."""

from __future__ import annotations

from functools import partial
from typing import Any

from mesh.client.connected import Connected
from mesh.errors import BadArgument, BadConfig, LocalError, PublishRefused
from mesh.names import node_name
from mesh.reserved import node_at, ruled_node
from mesh.values import Published
from mesh.wire.commands import Call
from mesh.wire.replies import RulesPut, RulesTold, read_result


async def put_setting(client: Connected, key: str, content: bytes) -> Published:
    """Replace the rules or the addresses of the node of the topic `key` by a `<clusternode>` text.

    Raises: PublishRefused, with the code of the reason.
    """
    put = await _rules_put(client, key, content) or RulesPut()
    return Published("OK", "", 0, _late(put))


async def withdraw_setting(client: Connected, key: str) -> bool:
    """Withdraw the mesh's rules or addresses of a node, so that its files decide; return if any existed."""
    return await _rules_put(client, key, None) is not None


def _late(put: RulesPut) -> str:
    missing = ", ".join(put.missing)
    return f"did not answer in time and will be notified again: {missing}" if missing else ""


async def _rules_put(client: Connected, key: str, content: bytes | None) -> RulesPut | None:
    ruled = ruled_node(key)
    try:
        return await _changed(client, ruled or node_at(key), content, is_info=not ruled)
    except LocalError as error:
        raise PublishRefused(error.what, hint=error.hint, code=error.code) from error


async def _changed(client: Connected, node: str, content: bytes | None, is_info: bool) -> RulesPut | None:
    """Send the changed rules, and return the reply; None if the mesh has these rules already."""
    # Imported here, because these modules slow down the start of a client and only admins need them.
    from mesh.config.formats import XMLBLASTER, config_format
    from mesh.config.ruled import with_addresses, with_rules, without_rules
    from mesh.security.ruling import new_rules

    found = read_result(RulesTold, await _said(client, "rules"))
    if is_info:
        at = config_format(XMLBLASTER).addresses(_text(content), node) if content is not None else ()
        change = partial(with_addresses, name=node_name(node), at=at)
    elif content is None:
        change = partial(without_rules, names=[node_name(node)])
    else:
        rules, _ = config_format(XMLBLASTER).rules(_text(content), node=node)
        change = partial(with_rules, found=rules)
    cluster = client.cluster
    if found.keys and not cluster:  # a local socket: this user's own nodes
        cluster = str((await _said(client, "info"))["cluster"])
    new = new_rules(found, change, cluster, client._way.environ, client._shell.wall())
    if new is None:
        return None
    told = read_result(RulesPut, await _said(client, "rules_put", **new.said))
    new.mark_accepted()
    return told


async def _said(client: Connected, verb: str, **said: Any) -> Any:
    return await client._call_value(lambda request: Call(request, verb, said))


def check_everywhere(
    domain: str | None,
    local_only: bool = False,
    expiry: float | None = None,
    silent: bool = False,
    history_only: bool = False,
) -> None:
    """Raise BadArgument for options that rules and addresses cannot have, as both apply to the whole mesh."""
    given = {
        "domain": bool(domain), "local_only": local_only, "expiry": expiry is not None, "silent": silent,
        "history_only": history_only,
    }  # fmt: skip
    if named := ", ".join(f"{name}=" for name, is_given in given.items() if is_given):
        what = (
            f"{named} cannot be used for the rules or addresses of a node, because these apply to the whole "
            "mesh until they are changed."
        )
        raise BadArgument(what, hint=f"Omit {named}, or choose another key.")


def _text(content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise BadConfig(
            f"The content is not UTF-8: {error}.", hint="Publish the text of a <clusternode>."
        ) from None
