"""What does this node accept as a master, and who is owed it?"""
