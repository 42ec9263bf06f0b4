"""The `mesh` command."""
