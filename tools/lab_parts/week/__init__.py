"""A week in production: nodes with a history, upgraded, backed up, restored, and checked for growth."""
