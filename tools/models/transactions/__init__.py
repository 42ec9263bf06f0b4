"""Exhaustive models of transactions and shared data."""
