"""Model of one session with one subscription that moves among three nodes."""
