"""What is in a queue, here and at the other nodes, those too that are away?"""
