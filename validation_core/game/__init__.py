"""Name that defect: rounds with a hidden defect of q, diagnostic plots, and the score."""
