"""What is to be reached, and how is what was measured told? Tables, pictures, JSON."""
