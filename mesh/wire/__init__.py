"""What do nodes and clients say to each other, byte by byte? See docs/wire.md."""
