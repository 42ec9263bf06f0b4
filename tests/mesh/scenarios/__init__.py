"""Do the scenarios of the systems before us hold, word for word, on real nodes?"""
