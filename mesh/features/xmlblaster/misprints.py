"""Corrects known misprints in `<clusternode>` texts of old documents, and reports each."""

from __future__ import annotations

import re
from dataclasses import dataclass

_TOKEN = re.compile(
    r"(?P<skip><!--.*?-->|<!\[CDATA\[.*?\]\]>)|<(?P<end>/?)(?P<name>[A-Za-z_][\w.:-]*)(?:[^<>'\"]|'[^']*'|\"[^\"]*\")*?(?P<empty>/?)>"
    r"|(?P<note>(?<![^\n])[ \t]*//[^\n]*)|(?P<dots>(?<![^\n])[ \t]*\.\.\.[ \t]*(?=\n|$))",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Misprint:
    """A misprint and its interpretation. `line` counts from 1."""

    line: int
    what: str


def mended(text: str) -> tuple[str, tuple[Misprint, ...]]:
    """Return the text with known misprints corrected, and the misprints. Lines keep their numbers.

    A nested `<connect>` ends the outer one, lines that begin with `//` are comments, `...` marks an omission,
    a `</master>` without a beginning is dropped, and `</clusternode>` may be missing after an omission.
    """
    out: list[str] = []
    found: list[Misprint] = []
    open_names: list[str] = []
    place = 0
    left_out = False
    for token in _TOKEN.finditer(text):
        out.append(text[place : token.start()])
        place = token.end()
        said = token[0]
        line = text.count("\n", 0, token.start()) + 1
        name = token["name"]
        if token["note"] or token["dots"]:
            left_out |= bool(token["dots"])
            found.append(Misprint(line, f"{said.strip()[:40]!r} is read as a comment"))
            said = ""
        elif name and token["end"] and name == "master" and name not in open_names:
            found.append(Misprint(line, "</master> closes no element and is ignored"))
            said = ""
        elif name == "connect" and not (token["end"] or token["empty"]) and "connect" in open_names:
            found.append(Misprint(line, "<connect> within <connect> is read as its end tag"))
            said = "</connect>"
            _close(open_names, name)
        elif name and token["end"]:
            _close(open_names, name)
        elif name and not token["empty"]:
            open_names.append(name)
        out.append(said)
    out.append(text[place:])
    if left_out and open_names == ["clusternode"]:
        found.append(Misprint(text.count("\n") + 1, "</clusternode> is missing at the end"))
        out.append("</clusternode>")
    return "".join(out), tuple(found)


def _close(open_names: list[str], name: str) -> None:
    if open_names and open_names[-1] == name:
        open_names.pop()
