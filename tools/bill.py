"""Completes the bill of materials that cyclonedx-py makes of packages, and checks it."""

import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import zmq

from mesh import __version__
from mesh.history.report.charts.drawing import library
from tools.bundled import Bundled, bundled

# The wheels of pyzmq contain libzmq, which no index of Python packages shows.
LIBZMQ = {
    "type": "library",
    "bom-ref": "libzmq",
    "name": "libzmq",
    "description": "brought along by pyzmq",
    "licenses": [{"license": {"id": "MPL-2.0"}}],
}
# The project contains plotly.js, packed by tools/plotly.
PLOTLY = {
    "type": "library",
    "bom-ref": "plotly.js",
    "name": "plotly.js-cartesian-dist-min",
    "description": "in mesh.history.report, for the pages that it makes",
    "licenses": [{"license": {"id": "MIT"}}],
}
OURS = {
    "type": "application",
    "bom-ref": "heronry",
    "name": "heronry",
    "licenses": [{"license": {"id": "Apache-2.0"}}],
}


def finished(
    bill: dict[str, Any], version: str, libzmq: str, in_wheels: Iterable[Bundled] = ()
) -> dict[str, Any]:
    """Return the bill with Heronry as its subject, with libraries from no index, and with stable names.

    `in_wheels` has bundled libraries, of which only those of packages in the bill are added.
    """
    parts = [part for part in bill["components"] if part["name"] != "heronry"]
    for part in parts:
        part["bom-ref"] = part["purl"]
        part.pop("description", None)
    parts.append({**LIBZMQ, "version": libzmq, "purl": f"pkg:github/zeromq/libzmq@v{libzmq}"})
    plotly = plotly_version()
    parts.append({**PLOTLY, "version": plotly, "purl": f"pkg:npm/{PLOTLY['name']}@{plotly}"})
    named = {part["name"].lower(): part["bom-ref"] for part in parts}
    depends = [
        {"ref": "heronry", "dependsOn": sorted(ref for name, ref in named.items() if name != "libzmq")}
    ]
    brought: dict[str, list[str]] = {named["pyzmq"]: ["libzmq"]}
    for each in in_wheels:
        if each.package in named:
            parts.append(each.component())
            brought.setdefault(named[each.package], []).append(parts[-1]["bom-ref"])
    depends += [{"ref": ref, "dependsOn": sorted(refs)} for ref, refs in brought.items()]
    metadata = {**bill.get("metadata", {}), "component": {**OURS, "version": version}}
    return {**bill, "metadata": metadata, "components": parts, "dependencies": depends}


def plotly_version() -> str:
    """Return the version of plotly.js in reports, from its header."""
    found = re.search(r" v([0-9.]+)\n", library().text[:300])
    assert found is not None, "plotly.js does not say its version"
    return found[1]


def flaw(bill: dict[str, Any]) -> str:
    """Return the first violation of CycloneDX's rules, or an empty text."""
    # Imported here, as the import takes 2 s.
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    found = JsonStrictValidator(SchemaVersion.V1_6).validate_str(json.dumps(bill))
    return "" if found is None else str(found)


def main() -> int:
    source, target = map(Path, sys.argv[1:])
    bill = finished(json.loads(source.read_text()), __version__, zmq.zmq_version(), bundled())
    if found := flaw(bill):
        print(f"tools/sbom: {found[:1000]}", file=sys.stderr)
        return 1
    target.write_text(json.dumps(bill, indent=2, sort_keys=True) + "\n")
    print(f"{target}: {len(bill['components'])} packages")
    return 0


if __name__ == "__main__":
    sys.exit(main())
