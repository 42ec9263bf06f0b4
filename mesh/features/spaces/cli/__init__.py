"""`mesh map`, `mesh counter`, `mesh lock` and `mesh tally`."""
