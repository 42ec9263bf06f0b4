"""How large, how crowded and how tangled is the house? Figures of its source, the same on every machine."""
