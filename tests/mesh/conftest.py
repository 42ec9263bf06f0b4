"""What do the tests of this folder share? One PostgreSQL, where one is wanted."""

from tests.postgres import postgres

__all__ = ["postgres"]
