"""What all parts of a node share: its settings, the time, effects, what is told and counted."""
