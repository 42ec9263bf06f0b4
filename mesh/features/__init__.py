"""The features of a node, each one package."""

from __future__ import annotations

from mesh.core.explaining import why_parts
from mesh.core.feature import Feature
from mesh.core.queues.room import QueueParts
from mesh.core.rules.room import rule_parts
from mesh.core.services.room import ServiceParts
from mesh.core.sites.room import SiteParts
from mesh.core.telling.recording import history_parts

FEATURES = (
    Feature("rules", rule_parts),
    Feature("history", history_parts),
    Feature("services", ServiceParts),
    Feature("queues", QueueParts, after=("services",)),
    Feature("sites", SiteParts, after=("services",)),
    Feature("why", why_parts),
)
