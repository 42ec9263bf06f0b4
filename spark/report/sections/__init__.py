"""Sections of the page: facts in, HTML out."""
