"""Why send far what can be done here?"""

from balancers.base import Candidates
from balancers.preferring import Preferring


class LocalFirst(Preferring):
    """This node, if it is a candidate; else the others in turn."""

    def preferred(self, candidates: Candidates) -> Candidates:
        return [candidate for candidate in candidates if candidate.is_here]
