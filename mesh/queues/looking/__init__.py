"""How is a queue doing, and why does something wait in it?"""
