"""Sessions and peers that are owed messages."""
