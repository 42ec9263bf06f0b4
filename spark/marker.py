"""Marker files that list the segments in the history, which nodes may therefore delete."""

import json
import re
from collections import defaultdict
from collections.abc import Iterable
from urllib.parse import unquote

NAME = "_ingested.json"
SEGMENT = re.compile(r"(.+-[0-9a-f]{8}-\d+)-(\d+)\.jsonl")
Ranges = dict[str, list[list[int]]]  # boot of a node: [first, last] numbers


def by_place(paths: Iterable[str]) -> dict[str, list[str]]:
    """Return the names of segments by snapshot directory, from the paths that Spark reports.

    Files with other names, such as compressed segments, are left out.
    """
    found: defaultdict[str, list[str]] = defaultdict(list)
    for path in paths:
        folder, _, name = unquote(path).rpartition("/")
        if SEGMENT.fullmatch(name):
            found[folder.rsplit("/date=", 1)[0]].append(name)
    return dict(found)


def added(text: str | None, segments: Iterable[str]) -> str:
    """Return the marker `text` with `segments` added.

    An invalid marker counts as empty.
    """
    numbers: defaultdict[str, list[list[int]]] = defaultdict(list, _read(text))
    for segment in segments:
        if match := SEGMENT.fullmatch(segment):
            numbers[match[1]].append([int(match[2]), int(match[2])])
    return json.dumps({run: joined(ranges) for run, ranges in sorted(numbers.items())})


def joined(ranges: Iterable[list[int]]) -> list[list[int]]:
    """Return the ranges sorted, with overlapping and adjacent ones merged."""
    found: list[list[int]] = []
    for first, last in sorted(ranges):
        if found and first <= found[-1][1] + 1:
            found[-1][1] = max(found[-1][1], last)
        else:
            found.append([first, last])
    return found


def _read(text: str | None) -> Ranges:
    try:
        read = json.loads(text or "{}")
        return {str(run): [[int(first), int(last)] for first, last in ranges] for run, ranges in read.items()}
    except (ValueError, TypeError, AttributeError):
        return {}
