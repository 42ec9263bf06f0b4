"""Commands for the history."""
