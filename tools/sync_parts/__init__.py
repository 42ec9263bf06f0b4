"""Parts of tools.generate_sync: the table of classes, the sources, and the text of methods and modules."""
