"""Stores of envelopes and small tables that outlive the process: SQLite, PostgreSQL, or memory."""
