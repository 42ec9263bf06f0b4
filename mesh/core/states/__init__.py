"""How is each node, and what does it sign?"""
