"""Exchange with other sites: selected messages, gateways, state of sites. No I/O, no clocks."""
