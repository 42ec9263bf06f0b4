"""Maps and counters, as programs use them."""
