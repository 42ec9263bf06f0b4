"""Programs as users write them: each runs, and is read by mypy and pyright in their strictest mode."""
