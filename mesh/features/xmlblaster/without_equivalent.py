"""Explains why some settings of xmlBlaster have no equivalent here, by the form of their names."""

from __future__ import annotations

import re

_ONE_PROTOCOL = "nodes and clients of a mesh use one protocol"
_REASONS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(form), reason)
    for form, reason in (
        (r"cluster/securityService/", "the password for other nodes is node.passwd; see mesh passwd"),
        (r"Security\.", "nodes and clients prove their identity with keys; see docs/security.md"),
        (r"[\w.]*Plugin(s?File\b|[\[./])|pluginsFile\b", "plug-ins of xmlBlaster are Java classes"),
        (r"plugin/socket/|dispatch/", "connections are set with [timing] and [limits]"),
        (r"jacorb\.|plugin/|protocol$|ORB", _ONE_PROTOCOL),
        (r"(logging|log|trace|call|dump)\b", "log levels are set with log.level and log.levels"),
        (r"admin\.", "the mesh commands replace its consoles"),
        (r"(login|logout|userList|client)Event\b", "mesh events shows connects and disconnects"),
        (
            r"JdbcDriver\b|queue[./]|persistence[./]|topic[./]|history[./]|maxNumStatements\b|useTopicStore\b",
            "the store is set with node.store, and its limits with [limits]",
        ),
    )
)


def reason_without_equivalent(name: str) -> str | None:
    """Return why an xmlBlaster setting has no effect here, or `None` if its name has no known form."""
    return next((reason for form, reason in _REASONS if form.match(name)), None)
