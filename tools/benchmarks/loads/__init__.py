"""The programs that benchmarks start, such as senders and receivers, and the evaluation of their output."""
