"""What a queue holds at one node: pure, no sockets, no clocks."""
