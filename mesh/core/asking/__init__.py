"""What does this node want from others?"""
