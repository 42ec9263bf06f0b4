"""`mesh map` and `mesh counter`."""
