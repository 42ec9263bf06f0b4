"""What is other sites' of what is published here, and what may come from there?"""
