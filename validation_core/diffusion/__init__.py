"""A conditional diffusion model, small enough to train and to sample on one processor."""

from validation_core.diffusion.noise import STEPS, levels
from validation_core.diffusion.recipe import PRESETS, Diffusion
from validation_core.diffusion.trained import TrainedDiffusion, learn

__all__ = ["PRESETS", "STEPS", "Diffusion", "TrainedDiffusion", "learn", "levels"]
