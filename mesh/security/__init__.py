"""Who may come in, and how is it proven? Keys, tokens, signatures, passwords."""
