"""Conformal C2ST: ranks, scores and power of one benchmark at every gamma and beta."""
