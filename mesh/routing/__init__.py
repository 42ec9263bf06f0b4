"""Who wants what, and where does a message go?"""
