"""What CoLT learnt: its ball in theta, where along x it is wrong, its ranks and its training."""
