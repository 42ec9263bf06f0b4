"""Creates the components for transactions."""

from __future__ import annotations

from mesh.features.transactions.node.commits import Commits
from mesh.features.transactions.node.decision_calls import DecisionCalls
from mesh.features.transactions.node.outcome_questions import OutcomeQuestions
from mesh.features.transactions.node.outcome_rows import OutcomeRows
from mesh.features.transactions.node.planning import Planning
from mesh.features.transactions.node.prepared import PreparedTransactions
from mesh.features.transactions.node.several_stores import SeveralStores
from mesh.kernel.feature import FeatureParts
from mesh.kernel.parts import Parts


class TransactionParts(FeatureParts):
    """The components that commit the transactions of clients, and keep the outcomes."""

    def __init__(self, k: Parts) -> None:
        rows = self.rows = OutcomeRows(k.context, k.disks)
        planning = Planning(k.context, k.joint, k.joint_routes, k.joint_forwards)
        several = SeveralStores(k.disks, k.joint)
        prepared = PreparedTransactions(k.context, k.disks, k.joint, planning, several, k.dead)
        self.commits = Commits(
            k.context, k.disks, k.publishing, k.joint, planning, rows, k.sessions, several, prepared
        )
        calls = DecisionCalls(k.context, k.nodes, k.questions, prepared, several)
        questions = OutcomeQuestions(k.context, k.relayed_calls, k.visiting, self.commits)
        super().__init__(rows, prepared, self.commits, questions, calls)
