"""Settings of xmlBlaster without an equivalent here, with the reason, by the form of the name."""

from __future__ import annotations

import re

_ONE_PROTOCOL = "nodes and clients of a mesh speak one protocol"
_REASONS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(form), reason)
    for form, reason in (
        (r"cluster/securityService/", "what other nodes must give is node.passwd; see mesh passwd"),
        (r"Security\.", "nodes and clients prove who they are by keys; see docs/security.md"),
        (r"[\w.]*Plugin(s?File\b|[\[./])|pluginsFile\b", "plug-ins of xmlBlaster are Java classes"),
        (r"plugin/socket/|dispatch/", "connections are set with [timing] and [limits]"),
        (r"jacorb\.|plugin/|protocol$|ORB", _ONE_PROTOCOL),
        (r"(logging|log|trace|call|dump)\b", "log levels are set with log.level and log.levels"),
        (r"admin\.", "the mesh commands take the place of its consoles"),
        (r"(login|logout|userList|client)Event\b", "mesh events shows who comes and goes"),
        (
            r"JdbcDriver\b|queue[./]|persistence[./]|topic[./]|history[./]|maxNumStatements\b|useTopicStore\b",
            "the store is set with node.store, and its bounds with [limits]",
        ),
    )
)


def reason_without_equivalent(name: str) -> str | None:
    """Return why a setting has no effect here, or `None` if xmlBlaster has no setting of this form."""
    return next((reason for form, reason in _REASONS if form.match(name)), None)
