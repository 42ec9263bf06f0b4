"""Fixtures of the command line, for a benchmark that is built as its verbs are."""

from tests.mesh.cli.conftest import given

__all__ = ["given"]
