"""The loads, the programs that send and receive them, and the evaluation of their figures."""
