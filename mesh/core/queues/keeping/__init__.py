"""What is in the queues of this node, who takes it, and what of that is on its disk?"""
