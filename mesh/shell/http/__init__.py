"""HTTP endpoints of a node on its own machine: liveness, readiness, metrics."""
