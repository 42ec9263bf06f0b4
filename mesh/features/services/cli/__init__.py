"""Commands for requests."""
