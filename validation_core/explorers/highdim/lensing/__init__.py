"""Galaxies behind gravitational lenses, and Table 2 of the CoLT paper."""
