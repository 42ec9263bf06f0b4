"""Edits mesh.toml automatically: appends or removes the section of a site.

Other lines stay unchanged. The result is parsed and compared with the intended one, and a file in an
unforeseen style is refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mesh.config.rule import spelt
from mesh.config.source import parsed
from mesh.errors import BadConfig

SettingValue = str | int | bool | tuple[str, ...]
_HEADER = re.compile(r"\s*\[")


def with_site(path: Path, text: str, site: str, values: Mapping[str, SettingValue]) -> str:
    """Return the text with the section of a new site.

    Raises: BadConfig if the site has a section, or the layout cannot be edited by a program.
    """
    title = f"[sites.{spelt(site)}]"
    if site in _sites(path, text):
        what = f"{path}: the section {title} exists already."
        hint = f"Change it there, or remove it first:  mesh relay rm {site}  (with --config, if you gave it)"
        raise BadConfig(what, hint=hint)
    lines = [title, *(f"{key} = {_written(value)}" for key, value in values.items())]
    apart = "\n" * max(0, 2 - (len(text) - len(text.rstrip("\n")))) if text else ""
    plain = {key: list(value) if isinstance(value, tuple) else value for key, value in values.items()}
    return _checked(path, text, text + apart + "\n".join(lines) + "\n", site, plain)


def without_site(path: Path, text: str, site: str) -> str:
    """Return the text without the section of a site and its subsections.

    Raises: BadConfig if the site has no section, or the layout cannot be edited by a program.
    """
    if site not in _sites(path, text):
        raise BadConfig(
            f"{path}: the section [sites.{spelt(site)}] does not exist.",
            hint="Check the name, and the file (--config FILE).",
        )
    own = re.compile(rf"\s*\[\s*sites\s*\.\s*([\"']?){re.escape(site)}\1\s*[\].]")
    kept, is_out = list[str](), False
    for line in text.splitlines(keepends=True):
        if _HEADER.match(line):
            is_out = own.match(line) is not None
        if not is_out:
            kept.append(line)
    return _checked(path, text, "".join(kept), site, None)


def _sites(path: Path, text: str) -> dict[str, Any]:
    found = parsed(path, text).table.get("sites", {})
    return dict(found) if isinstance(found, dict) else {}


def _written(value: SettingValue) -> str:
    """Return a value as TOML, which equals JSON here. `_checked` detects exceptions."""
    return json.dumps(value, ensure_ascii=False)


def _checked(path: Path, before: str, after: str, site: str, section: Mapping[str, Any] | None) -> str:
    """Return `after` if it parses to the intended content. Raises: BadConfig."""
    meant = {name: each for name, each in _sites(path, before).items() if name != site}
    if section is not None:
        meant[site] = section
    verb = "Remove" if section is None else "Write"
    hint = f"{verb} [sites.{spelt(site)}] there by hand, then run:  mesh config reload"
    try:
        found = {**parsed(path, after).table, "sites": _sites(path, after)}
    except BadConfig:
        found = {}
    if found != {**parsed(path, before).table, "sites": meant}:
        raise BadConfig(f"{path}: its layout cannot be edited by a program.", hint=hint)
    return after
