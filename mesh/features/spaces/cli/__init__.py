"""`mesh map`, `mesh counter` and `mesh lock`."""
