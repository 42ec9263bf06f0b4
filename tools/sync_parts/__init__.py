"""Parts of tools.generate_sync: what is generated, the sources, and the text of methods and modules."""
