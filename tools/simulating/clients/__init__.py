"""The clients of a scenario, which record what they receive."""
