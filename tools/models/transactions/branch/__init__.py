"""The model of a transaction at one node, in one store or three."""
