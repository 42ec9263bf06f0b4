"""The implementation of `tools/bench`: measurements, the programs that they run, and their reports."""
