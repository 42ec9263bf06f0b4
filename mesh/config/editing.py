"""A mesh.toml that a program changes: a section for a site comes to its end, or is taken out of it.

What people wrote stays as they wrote it. What came of it is compared with what was meant, so a file that is
written in a way which is not foreseen here is left alone.
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
    """The text of that file, with that section. BadConfig if it has one of that name."""
    title = f"[sites.{spelt(site)}]"
    if site in _sites(path, text):
        what = f"{path}: there is a section {title} already."
        raise BadConfig(what, hint=f"Change it there, or take it out first:  mesh relay rm {site}")
    lines = [title, *(f"{key} = {_written(value)}" for key, value in values.items())]
    apart = "\n" * max(0, 2 - (len(text) - len(text.rstrip("\n")))) if text else ""
    plain = {key: list(value) if isinstance(value, tuple) else value for key, value in values.items()}
    return _checked(path, text, text + apart + "\n".join(lines) + "\n", site, plain)


def without_site(path: Path, text: str, site: str) -> str:
    """The text of that file, without that section and what is below it. BadConfig if it has none."""
    if site not in _sites(path, text):
        raise BadConfig(f"{path}: there is no section [sites.{spelt(site)}].", hint="See:  mesh relay ls")
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
    """A value as TOML has it, which is as JSON has it: but for what _checked finds."""
    return json.dumps(value, ensure_ascii=False)


def _checked(path: Path, before: str, after: str, site: str, section: Mapping[str, Any] | None) -> str:
    """What came of it, if that is what was meant."""
    meant = {name: each for name, each in _sites(path, before).items() if name != site}
    if section is not None:
        meant[site] = section
    hint = f"Change [sites.{spelt(site)}] there by hand, then:  mesh config reload"
    try:
        found = {**parsed(path, after).table, "sites": _sites(path, after)}
    except BadConfig:
        found = {}
    if found != {**parsed(path, before).table, "sites": meant}:
        raise BadConfig(f"{path}: it is written in a way that no program changes.", hint=hint)
    return after
