"""The wire protocol between nodes and clients, byte by byte. See docs/wire.md."""
