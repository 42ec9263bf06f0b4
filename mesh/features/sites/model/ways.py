"""Maps each site to the neighbor through which it is reached. Gateways of a neighbor are linked with ours."""

# Law: the route to every named site leads to a neighbor, or the site is left out. It never loops.

from __future__ import annotations

from collections.abc import Mapping


def ways(vias: Mapping[str, str]) -> dict[str, str]:
    """Return the neighbor on the route to each site; a neighbor maps to itself.

    `vias` maps each site to its next site as configured, "" for a neighbor. Sites whose route loops or ends
    nowhere are left out.
    """
    found: dict[str, str] = {}
    for site in vias:
        step, left = site, len(vias)
        while vias.get(step) and left:
            step, left = vias[step], left - 1
        if vias.get(step) == "":
            found[site] = step
    return found
