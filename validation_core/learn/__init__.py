"""Training of networks: perceptrons, scaled inputs, Adam, the loop, and how they are stored."""
