"""What can be said of q at one's own observation, from a table of simulations.

Four answers beside L-C2ST: whether the simulator could have made it (`simulated`), whether q is
calibrated at the simulations nearest to it (`near`), what importance weights say there
(`weights`), and whether q's draws reproduce it (`predictive`). `look` asks them all, the worst
first.
"""
