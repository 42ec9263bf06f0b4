"""The report for people: figures, charts and one page."""
