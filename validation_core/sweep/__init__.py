"""A sweep: methods over a grid of gamma and beta, as an ordered set of trials with keys.

Each part is one method at one place of the grid, with some trials, stored under its own key. A
sweep is resumed by submitting its missing parts, a longer one extends a shorter one, a further
method adds only its own trials, and a failing method stops no other.
"""
