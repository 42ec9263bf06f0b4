"""The feature that lets the admin set rules for all nodes."""
