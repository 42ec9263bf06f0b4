"""The rules of shared data, without input or output."""
