"""Tests judged on tables made of a table's own draws, in which q is right: a draw plays the truth.

Given x the K draws are exchangeable, so that one of them, picked at random, ranks among the other
K - 1 as the truth would if q were correct, whatever q is: no simulator is needed
(`relabelling.played_truths`). With truths moved or chosen by an injection the same tables show
whether a test finds a known defect.
"""
