"""Other nodes of the mesh: discovery, connections, and the traffic with each of them."""
