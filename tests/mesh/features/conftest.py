"""Fixtures of the verbs, for the verbs of features."""

from tests.mesh.cli.conftest import given, started_anew

__all__ = ["given", "started_anew"]
