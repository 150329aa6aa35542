"""Name that defect: rounds with a hidden defect of q, plots that tell of it, and the score."""
