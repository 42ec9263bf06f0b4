"""How is a script played? Each of its steps is done to a mesh, which is healed at the end."""
