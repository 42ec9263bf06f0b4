"""Tests of transactions of a database."""
