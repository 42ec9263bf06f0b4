"""What users hold: connect, publish, subscribe."""
