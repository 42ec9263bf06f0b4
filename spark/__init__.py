"""What happened? The history of the mesh as Spark tables."""
