"""Spark jobs on the history of a mesh: ingest, compaction, views, reports and weights."""
