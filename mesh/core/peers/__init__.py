"""Other nodes: which are there, and how is each reached?"""
