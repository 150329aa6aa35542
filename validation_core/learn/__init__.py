"""The only training: networks, standardisation, Adam and the loop, and how networks are kept."""
