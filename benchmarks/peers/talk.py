"""A peer at work: a job a line in, an answer a line out, both JSON. Imports nothing of ours."""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

Arrays = Mapping[str, np.ndarray]
Job = Callable[..., Any]


def serve(**jobs: Job) -> None:
    """Answer until the input ends.

    A job is called with the arrays of its file and the rest of what was asked; its answer is what
    JSON can hold. `error` is said instead where it fails.
    """
    # What packages print goes where errors go: the answers have this channel alone.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            with np.load(asked.pop("file"), allow_pickle=False) as stored:
                arrays = dict(stored)
            answer = jobs[asked.pop("job")](arrays, **asked)
        except Exception as error:
            traceback.print_exc()
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers, flush=True)


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds that a piece of work took, and what it gave."""
    start = time.perf_counter()
    found = work()
    return time.perf_counter() - start, found
