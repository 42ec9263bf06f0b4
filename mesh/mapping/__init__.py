"""Who is master of a message, and which node is the next on the way to it?"""
