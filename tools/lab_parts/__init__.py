"""The fault lab: machines on a switch that can be made bad, and what runs on them."""
