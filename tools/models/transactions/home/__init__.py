"""The model of a lock and a guarded key at a home that moves."""
