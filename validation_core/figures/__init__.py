"""Figures: pure functions from values to plotly, all their looks in `style`."""
