"""A sweep: many methods over a grid of gamma and beta, as an ordered set of trials with keys.

Each part is one method, one place of the grid and some trials, and lands in the store under its
own key. So a sweep is resumed by submitting what is missing, a longer one adds to a shorter one,
a further method adds its own trials only, and a method that fails stops no other.
"""
