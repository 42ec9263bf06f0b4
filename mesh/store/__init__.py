"""What must outlive this process? Envelopes and small tables, in memory or in one SQLite file."""
