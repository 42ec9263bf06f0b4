"""Which messages does somebody select?"""
