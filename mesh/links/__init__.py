"""The relation with one peer: the link's states, its backoff, and the choice between two connections."""
