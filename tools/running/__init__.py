"""How are other programs started and watched, and what do they say? Nodes above all."""
