"""Forwards messages toward their masters and the answers back; also dead letters and dirty reads."""
