"""Figures of a node for monitoring: as Prometheus metrics, and as a health verdict."""
