"""Fixtures of the command line, for a benchmark that is built like its verbs."""

from tests.mesh.cli.conftest import given

__all__ = ["given"]
