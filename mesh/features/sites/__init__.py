"""The feature of other sites."""
