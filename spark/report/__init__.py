"""The report that a person looks at: figures, charts and one page."""
