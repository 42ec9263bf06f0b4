"""What of this user is on this machine? State directory, cookie, data directories, running nodes."""
