"""The feature of shared data: maps and counters, each with one node that decides."""
