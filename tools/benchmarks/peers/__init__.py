"""The peers of Heronry in benchmarks, each with its server and clients, and the same loads for all."""
