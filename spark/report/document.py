"""The report as one JSON document, for programs."""

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from mesh.history.report.facts import Facts
from mesh.history.report.findings import findings, verdict

VERSION = 1


def document(facts: Facts) -> dict[str, Any]:
    """Return the fields of Facts, with `version`, `findings` and `verdict`.

    Times are ISO 8601 in UTC.
    """
    found = {"findings": [asdict(it) for it in findings(facts)], "verdict": verdict(facts)}
    told: dict[str, Any] = _plain({"version": VERSION} | asdict(facts) | found)
    return told


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    return value
