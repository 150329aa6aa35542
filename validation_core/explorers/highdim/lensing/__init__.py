"""Galaxies behind gravitational lenses, and Table 2 of the Conformal C2ST paper."""
