"""The model of consumers with an inbox in their database."""
