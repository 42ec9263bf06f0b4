"""Packages of the features: what a node, a client and the command line have beside the kernel."""
