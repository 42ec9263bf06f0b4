"""How fast is it, and what does it cost? One file for each part of tools/bench that measures."""
