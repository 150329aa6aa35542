"""The playground: where q is wrong, how ranks say so, and how often tests see it."""
