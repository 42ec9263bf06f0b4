"""Requests and replies: how fast are they here, and beside those who have them, too?"""
