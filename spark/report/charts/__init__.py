"""Drawing with Plotly: plain values in, its JSON out. Nothing outside this room knows Plotly."""
