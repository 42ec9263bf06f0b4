"""How do time and memory grow with the size of everything?"""
