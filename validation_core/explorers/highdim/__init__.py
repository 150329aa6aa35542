"""High dimensions: explorers of spheres, images, digits and lenses."""

from __future__ import annotations

from validation_core.methods import C2ST, Multiple, Uniform
from validation_core.methods.base import Method

BETAS = (0.0, 0.95)
"""Degradations of the paper: as trained, and nearly the random start."""
METHODS: tuple[Method, ...] = (C2ST(), Multiple(), Uniform(m=20))
"""Methods that the paper compares on images, Uniform at the largest of its m."""
