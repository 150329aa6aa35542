"""Train an estimator on a task whose posterior is known, and see what it learns."""
