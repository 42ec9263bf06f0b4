"""Fixtures for all tests of `mesh`: one PostgreSQL server, where a test needs it."""

from tests.postgres import postgres

__all__ = ["postgres"]
