"""Plays a script: applies each step to a mesh, and heals all faults at the end."""
