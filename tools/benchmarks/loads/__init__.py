"""What is sent, by which programs, and what do their numbers say?"""
