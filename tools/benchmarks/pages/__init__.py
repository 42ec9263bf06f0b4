"""Goals, and the presentation of results as tables, plots and JSON."""
