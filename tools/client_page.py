"""Writes the docstrings of the client into docs/client.md; --check fails if the page is out of date.

python -m tools.client_page [--check] [--page FILE]
"""

from __future__ import annotations

import argparse
import inspect
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from textwrap import dedent
from typing import Any

import mesh
from mesh.client.events import KINDS

PAGE = Path(__file__).resolve().parent.parent / "docs" / "client.md"
BEGIN, END = (f"<!-- made from docstrings by tools/client_page.py: {word} -->" for word in ("begin", "end"))
WIDTH = 100
# A test fails if a verb of the client is in none of them.
SECTIONS: Sequence[tuple[str, str, type, Sequence[str]]] = (
    ("Publish", "", mesh.Client,
     ["publish", "publish_many", "publish_oneway", "post", "flush", "room", "final", "waiting", "erase"]),
    ("Subscribe and ask", "", mesh.Client, ["subscribe", "unsubscribe", "get"]),
    ("Handlers", "See [handlers](handlers.md).", mesh.Client,
     ["on", "run", "running"]),
    ("Send to one client", "[Routing](routing.md#to-one-client) explains the destinations.",
     mesh.Client, ["send", "inbox"]),
    ("Requests and services", "See [services](services.md).", mesh.Client,
     ["request", "gather", "serve", "service", "registrations"]),
    ("Queues", "See [queues](queues.md).", mesh.Client, [
        "queue", "transaction", "outcome", "recover", "commit_prepared", "rollback_prepared",
    ]),
    ("Maps and counters", "See [maps and counters](maps.md).", mesh.Client, ["map", "counter", "tally"]),
    ("Locks and elections", "See [locks](locks.md).", mesh.Client,
     ["lock", "elect", "leader", "watch_leader"]),
    ("The mesh",
     "See [why](why.md) for reasons, and [the protocol](wire.md#verbs-of-clients) for all requests.",
     mesh.Client,
     ["nodes", "views", "info", "route", "why", "where", "ping", "events", "call", "name", "cluster",
      "close"]),
    ("A queue", "", mesh.Queue,
     ["name", "declare", "put", "post", "put_many", "consume", "get", "info", "peek", "move", "purge",
      "delete"]),
    ("A map", "", mesh.Map,
     ["name", "declare", "put", "put_if", "get", "items", "remove", "watch"]),
    ("A counter", "", mesh.Counter, ["name", "add", "value", "put_if"]),
    ("A tally", "", mesh.Tally, ["name", "add", "value"]),
    ("A lock", "", mesh.Lock, ["name", "token", "lost", "waiting"]),
    ("A message", "", mesh.Message,
     ["key", "content", "value", "text", "json", "domain", "headers", "priority", "expires", "persistent",
      "provisional", "late", "sender", "to", "route", "sent", "state", "id", "source", "stale", "make"]),
    ("A subscription", "", mesh.Subscription, ["batches", "dropped", "unknown_gaps", "unsubscribe", "id"]),
    ("A message from a queue", "Besides the attributes of a message, a delivery has the following.",
     mesh.Delivery, ["ack", "nack", "reject", "extend", "attempt", "redelivered", "group", "db",
     "done_before"]),
    ("A request", "Besides the attributes of a message, a request has the following.",
     mesh.Request, ["reply", "fail", "remaining", "wants_reply"]),
)  # fmt: skip
OPENED = ("connect", "node")
CALLED = {mesh.Queue: "queue.", mesh.Map: "prices.", mesh.Counter: "counter.", mesh.Tally: "tally.",
          mesh.Message: "message.", mesh.Delivery: "job.", mesh.Request: "request.",
          mesh.Subscription: "subscription."}  # fmt: skip
# Verbs without a docstring, as the name suffices in the code.
OBVIOUS = {
    "key": "The key of the topic.",
    "content": "The bytes of the content.",
    "domain": 'The domain of the topic; "" for none.',
    "persistent": "Whether the message was published with `persistent=True`.",
}


def verbs(kind: type) -> dict[str, Any]:
    """Return the public verbs and values of a class."""
    return {name: inspect.getattr_static(kind, name) for name in dir(kind) if not name.startswith("_")}


def page() -> Iterator[str]:
    """Yield everything between the marks, paragraph by paragraph."""
    yield "## Open a client"
    for name in OPENED:
        function = getattr(mesh, name)
        yield from _told(f"mesh.{name}", function, function)
    for title, more, kind, names in SECTIONS:
        yield f"## {title}"
        if kind is not mesh.Client:
            yield f"`mesh.{kind.__name__}`. {_markdown(inspect.getdoc(kind) or '')}"
        if more:
            yield more
        there = verbs(kind)
        values = [name for name in names if not _is_called(there[name])]
        for name in names:
            if name not in values:
                yield from _told(CALLED.get(kind, "") + name, there[name], getattr(kind, name))
            if name == "events":
                yield "\n".join(_event_rows())
        if values:
            yield "\n".join(["| name | meaning |", "| --- | --- |", *(_row(n, there[n]) for n in values)])


def _event_rows() -> Iterator[str]:
    yield from ("| `kind` | meaning | `text` | logged as |", "| --- | --- | --- | --- |")
    for name, kind in KINDS.items():
        level = "warning" if kind.is_warning else "info"
        yield f"| `{name}` | {kind.meaning.removesuffix('.')} | {kind.text} | {level} |"


def _is_called(verb: Any) -> bool:
    return callable(verb) or isinstance(verb, classmethod | staticmethod)


def _told(name: str, verb: Any, bound: Any) -> Iterator[str]:
    yield f"### {name.removeprefix('mesh.')}"
    yield f"```py\n{signature(name, verb, bound)}\n```"
    yield _markdown(inspect.getdoc(bound) or "")


def _markdown(text: str) -> str:
    """Return a docstring with its Google sections as Markdown: lists, and code blocks for examples."""
    parts = re.split(r"^(Args|Returns|Raises|Example):\n", text, flags=re.MULTILINE)
    made = [parts[0].rstrip()]
    for title, body in zip(parts[1::2], parts[2::2], strict=True):
        inside = dedent(body).strip()  # cleandoc would not indent the first line
        if title == "Example":
            made.append(f"```py\n{inside}\n```")
        elif title == "Returns":
            made.append(f"**Returns**: {' '.join(inside.split())}")
        else:
            items = [" ".join(each.split()) for each in re.split(r"\n(?! )", inside)]
            lines = [re.sub(r"^([\w, ]+): ", _as_code, each) for each in items]
            made.append("\n".join([f"**{title}**", "", *(f"- {line}" for line in lines)]))
    return "\n\n".join(made)


def _as_code(found: re.Match[str]) -> str:
    return ", ".join(f"`{name.strip()}`" for name in found[1].split(",")) + ": "


def signature(name: str, verb: Any, bound: Any) -> str:
    """Return the call as it is typed, with `await` where needed, and its types."""
    raw = verb.__func__ if isinstance(verb, classmethod | staticmethod) else verb
    waits = "await " if inspect.iscoroutinefunction(raw) else ""
    found = inspect.signature(bound)
    words = [_argument(it) for it in found.parameters.values() if it.name != "self"]
    words = _with_marks(found, words)
    back = found.return_annotation
    end = "" if back in (inspect.Signature.empty, "Any") or name.startswith("mesh.") else f" -> {_type(back)}"
    line = f"{waits}{name}({', '.join(words)}){end}"
    if len(line) <= WIDTH:
        return line
    lines = [""]
    for word in words:
        if len(lines[-1]) + len(word) > WIDTH - 6:
            lines.append("")
        lines[-1] += f" {word}," if lines[-1] else f"    {word},"
    inside = "\n".join(lines)
    return f"{waits}{name}(\n{inside}\n){end}"


def _argument(it: inspect.Parameter) -> str:
    star = "*" if it.kind is it.VAR_POSITIONAL else "**" if it.kind is it.VAR_KEYWORD else ""
    said = f"{star}{it.name}" + ("" if it.annotation is it.empty else f": {_type(it.annotation)}")
    return said if it.default is it.empty else f"{said} = {it.default!r}"


def _with_marks(found: inspect.Signature, words: list[str]) -> list[str]:
    """Insert the star before keyword-only arguments."""
    names = [it for it in found.parameters.values() if it.name != "self"]
    if any(it.kind is it.VAR_POSITIONAL for it in names):
        return words
    first = next((i for i, it in enumerate(names) if it.kind is it.KEYWORD_ONLY), None)
    return words if first is None else [*words[:first], "*", *words[first:]]


def _type(annotation: Any) -> str:
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return re.sub(r"\b(?:mesh|os|typing|collections\.abc)(?:\.\w+)*\.(?=[A-Z])", "", text)


def _row(name: str, value: Any) -> str:
    text = " ".join((inspect.getdoc(value) or OBVIOUS[name]).split())
    return f"| `{name}` | {text.replace('|', chr(92) + '|')} |"


def made(text: str) -> str:
    """Return the page with everything between the marks replaced.

    Raises ValueError if a mark is missing.
    """
    before, _ = text.split(BEGIN)
    _, after = text.split(END)
    return f"{before}{BEGIN}\n\n" + "\n\n".join(page()) + f"\n\n{END}{after}"


def main() -> int:
    parser = argparse.ArgumentParser(description="Write the docstrings of the client into its page.")
    parser.add_argument("--check", action="store_true", help="only compare; exit 1 if out of date")
    parser.add_argument("--page", type=Path, default=PAGE, help="path of the page; default: docs/client.md")
    options = parser.parse_args()
    old = options.page.read_text(encoding="utf-8")
    new = made(old)
    if not options.check:
        options.page.write_text(new, encoding="utf-8")
    elif new != old:
        print(f"{options.page} is out of date. Type: python -m tools.client_page", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
