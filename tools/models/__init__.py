"""Models of product parts, and messages of each kind: for tests, fuzzers and benchmarks."""
