"""Preference for the local node."""

from mesh.balancers.base import Candidates
from mesh.balancers.preferring import Preferring


class LocalFirst(Preferring):
    """Picks this node if it is a candidate, else the others in turn."""

    def preferred(self, candidates: Candidates) -> Candidates:
        return [candidate for candidate in candidates if candidate.is_here]
