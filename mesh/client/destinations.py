"""Destinations that stand for several receivers: an XPath over clients, and an address in each other site."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from mesh.client.views import SitesReply
from mesh.errors import BadArgument, PublishRefused
from mesh.mapping.xpath import read
from mesh.names import OTHERS
from mesh.wire.replies import ClientRows, read_result

XPATH = "xpath:"  # prefix of an XPath over connected sessions
EACH_SITE = f"{OTHERS}*/"  # prefix of a name in each other site

Ask = Callable[..., Coroutine[Any, Any, Any]]
Receivers = tuple[list[str], dict[str, PublishRefused]]  # names, and errors by destination


def is_pattern(destination: object) -> bool:
    return isinstance(destination, str) and destination.startswith((XPATH, EACH_SITE))


def refuse_pattern(destination: str) -> BadArgument:
    """Return the error for a pattern that is not in a list of destinations."""
    what = f"The destination {destination[:80]!r} may stand for several receivers."
    return BadArgument(what, hint=f"Write it in a list, for one result each: [{destination[:80]!r}].")


async def receivers(pattern: str, call: Ask) -> Receivers:
    """Return the receivers for which a pattern stands now.

    `call` asks the client's node. Raises: BadXPath, BadArgument if too many sessions match, RemoteError.
    """
    if pattern.startswith(EACH_SITE):
        rows = read_result(SitesReply, await call("sites"))
        return [f"{OTHERS}{row.site}/{pattern.removeprefix(EACH_SITE)}" for row in rows.sites], {}
    xpath = pattern.removeprefix(XPATH)
    read(xpath)  # for an error that shows the place
    found = read_result(ClientRows, await call("clients", xpath=xpath))
    if found.too_many:
        what = f"More than {len(found.clients):,} sessions match the XPath {xpath!r}."
        raise BadArgument(what, hint="Nothing was sent. Select fewer, for example by @node.")
    return found.clients, {f"/node/{node}": _silent(node) for node in found.missing}


def _silent(node: str) -> PublishRefused:
    what = f"{node} did not report its clients, so matching ones there did not receive the message"
    hint = "The node is unreachable or of an earlier release: see `mesh ls`."
    return PublishRefused(f"{what}.", hint=hint, code="NODE_AWAY")
