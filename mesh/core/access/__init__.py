"""Who may come in?"""
