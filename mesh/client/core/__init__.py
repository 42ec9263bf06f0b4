"""The client without sockets, timers, loop or dice: what it does with what its node and its user say.

A shell around it tells it what happened (`ClientCore`), does its effects, and wakes it when something is due.
"""
