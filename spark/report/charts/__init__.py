"""Charts by Plotly: plain values in, JSON out.

Only this package imports Plotly.
"""
