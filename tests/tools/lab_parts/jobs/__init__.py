"""Tests of the run with jobs in a database."""
