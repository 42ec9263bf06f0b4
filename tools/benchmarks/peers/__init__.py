"""What is Heronry measured against? Peers, each with its server and clients, and the same loads for all."""
