"""Routes to other nodes: links, questions, distances and the choice between nodes."""
