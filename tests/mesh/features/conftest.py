"""Fixtures of the commands, for the commands of features."""

from tests.mesh.cli.conftest import given, started_anew

__all__ = ["given", "started_anew"]
