"""Creates the components for transactions."""

from __future__ import annotations

from mesh.features.transactions.node.commits import Commits
from mesh.features.transactions.node.outcome_questions import OutcomeQuestions
from mesh.features.transactions.node.outcome_rows import OutcomeRows
from mesh.features.transactions.node.planning import Planning
from mesh.kernel.feature import FeatureParts
from mesh.kernel.parts import Parts


class TransactionParts(FeatureParts):
    """The components that commit the transactions of clients, and keep the outcomes."""

    def __init__(self, k: Parts) -> None:
        rows = self.rows = OutcomeRows(k.context, k.disks)
        planning = Planning(k.context, k.joint, k.joint_routes, k.joint_forwards)
        self.commits = Commits(k.context, k.disks, k.publishing, k.joint, planning, rows, k.sessions)
        questions = OutcomeQuestions(k.context, k.relayed_calls, k.visiting, self.commits)
        super().__init__(rows, self.commits, questions)
