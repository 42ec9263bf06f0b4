"""The report on the history: on a terminal, as a page with charts, or as a JSON document."""
