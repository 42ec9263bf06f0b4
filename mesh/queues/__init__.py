"""Queues: what is put into one waits, and is given to one consumer at a time until it is done."""
