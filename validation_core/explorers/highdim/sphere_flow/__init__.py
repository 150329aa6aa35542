"""A flow on a sphere in 100 dimensions whose base is shifted along one direction."""
