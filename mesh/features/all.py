"""The features of every node, one line each."""

from __future__ import annotations

from mesh.features.dialback.node.checking import DialBackParts
from mesh.features.drain.node.node_drain import DrainParts
from mesh.features.history.recording import history_parts
from mesh.features.queues.node.parts import QueueParts
from mesh.features.rules.parts import rule_parts
from mesh.features.services.node.parts import ServiceParts
from mesh.features.sites.node.parts import SiteParts
from mesh.features.spaces.node.parts import SpaceParts
from mesh.features.transactions.node.parts import TransactionParts
from mesh.features.where.node.parts import WhereParts
from mesh.features.why.explaining import why_parts
from mesh.kernel.feature import Feature
from mesh.kernel.parts import Parts

FEATURES: tuple[Feature[Parts], ...] = (
    Feature("rules", rule_parts),
    Feature("history", history_parts),
    Feature("services", ServiceParts),
    Feature("queues", QueueParts, after=("services",)),
    Feature("sites", SiteParts, after=("services",)),
    Feature("transactions", TransactionParts, after=("queues",)),
    Feature("why", why_parts),
    Feature("where", WhereParts),
    Feature("dialback", DialBackParts),
    Feature("drain", DrainParts),
    Feature("spaces", SpaceParts),
)
