"""Admission of connections: proofs, keys and passwords of both ends."""
