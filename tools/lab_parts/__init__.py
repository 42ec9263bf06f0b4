"""The fault lab: machines on a switch with faults, and the runs on them."""
