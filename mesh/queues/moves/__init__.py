"""What goes from one part of a queue to another, and how the parts are doing: pure, no sockets, no clocks."""
