"""The client's logic without sockets, timers, event loop or random numbers.

A shell passes events to `ClientCore`, executes the effects, and calls again when something is due.
"""
