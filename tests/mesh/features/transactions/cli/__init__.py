"""Tests of `mesh tx`."""
