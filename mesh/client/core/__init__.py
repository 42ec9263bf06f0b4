"""The client's logic without sockets, timers, event loop or random numbers.

A shell passes events in (`ClientCore`), executes the effects, and calls back when something is due.
"""
