"""Queue logic without I/O or clocks: definitions, messages, consumers, selectors, and moves between nodes."""
