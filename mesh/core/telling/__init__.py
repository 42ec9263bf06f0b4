"""The history that this node records about the mesh."""
