"""What nodes write down of the mesh, for whoever asks later: lines, segments, and how long they are kept."""
