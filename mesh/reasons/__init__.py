"""The reasons why an object is, or is not, where it should be: values and their texts."""
