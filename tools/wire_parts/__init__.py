"""The parts of docs/wire.md and docs/wire-vectors.json that are generated from the code."""
