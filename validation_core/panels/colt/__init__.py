"""Pictures of CoLT: its ball in theta, where along x q is wrong, its ranks and its training."""
