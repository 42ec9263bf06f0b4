"""Files of this user on this machine: state directory, cookie, data directories, running nodes."""
