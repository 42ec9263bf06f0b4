"""The rules in force and their changes, and the values that a new master or a backup takes over."""
