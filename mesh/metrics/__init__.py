"""A node's figures for what watches it: as metrics of Prometheus, and as a verdict."""
