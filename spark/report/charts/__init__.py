"""Plotly charts: plain values in, JSON out.

Only this package imports Plotly.
"""
