"""Files of this user on this machine: state and data directories, cookie, backups, snapshots, units."""
