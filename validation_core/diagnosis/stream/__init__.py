"""Evidence against q while its rows come, valid at every moment at once."""
