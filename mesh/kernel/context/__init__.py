"""State and services that all components of a node share: settings, clock, effects, facts and counters."""
