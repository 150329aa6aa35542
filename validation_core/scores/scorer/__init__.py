"""The scorer: one learnt g(theta, x) for every slot, with which the truth is to be told."""

from validation_core.scores.scorer.recipe import FEWEST, NETS, Net, Scorer

__all__ = ["FEWEST", "NETS", "Net", "Scorer"]
