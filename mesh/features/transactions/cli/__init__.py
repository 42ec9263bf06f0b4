"""The command `mesh tx`."""
