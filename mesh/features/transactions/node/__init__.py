"""The components of a node that commit transactions."""
