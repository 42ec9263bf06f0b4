"""By which neighbour is each site reached? A neighbour has gateways that ours dial, or that dial ours."""

# Law: from every site that is named the ways lead to a neighbour, or it is reached by none. Never back.

from __future__ import annotations

from collections.abc import Mapping


def ways(vias: Mapping[str, str]) -> dict[str, str]:
    """The next site on the way to each: of a neighbour that is itself. `vias`: by which site each one is
    reached as the file has it, "" for a neighbour. What leads back, or nowhere, is left out.
    """
    found: dict[str, str] = {}
    for site in vias:
        step, left = site, len(vias)
        while vias.get(step) and left:
            step, left = vias[step], left - 1
        if vias.get(step) == "":
            found[site] = step
    return found
