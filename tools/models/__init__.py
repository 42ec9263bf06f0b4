"""Parts of the product alone, and messages of each kind: for tests, fuzzers and benchmarks."""
