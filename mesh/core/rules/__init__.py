"""Values on which the whole mesh agrees: shared rows, rules, weights and backups."""
