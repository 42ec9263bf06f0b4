"""Who speaks to the nodes of a story, and keeps what it is told?"""
