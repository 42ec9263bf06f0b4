"""Tests of the tables and drivers of outbox and inbox."""
