"""Other sites: what goes there, by which of us, and who is there. Pure, no sockets, no clocks."""
