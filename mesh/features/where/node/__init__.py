"""The components that find names, and report the names of this node to nodes with `nameservice`."""
