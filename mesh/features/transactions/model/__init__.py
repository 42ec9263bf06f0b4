"""Rules of transactions, without components."""
