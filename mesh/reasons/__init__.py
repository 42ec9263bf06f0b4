"""Why does something go where it goes, or nowhere? Reasons as values, and their texts."""
