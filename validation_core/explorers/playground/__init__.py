"""The playground: where q is wrong, its ranks, and the power of tests."""
