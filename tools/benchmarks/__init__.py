"""The measurements of `tools/bench`, and the programs that they run."""
