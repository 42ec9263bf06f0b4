"""What does a node decide? Pure: events in, effects out."""
