"""The feature of rules that the admin sets for all nodes."""
