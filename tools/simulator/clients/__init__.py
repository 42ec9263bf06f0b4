"""The clients of a scenario, which record the messages that they receive."""
