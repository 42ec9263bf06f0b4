"""History of the mesh as Spark tables."""
