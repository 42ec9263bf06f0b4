"""The feature that has other nodes dial the address that this node advertises."""
