"""The packages of the features."""
