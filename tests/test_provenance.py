"""The provenance of results: the stopwatch of work."""

import time

from validation_core import provenance
from validation_core.provenance import Stopwatch


def test_what_others_do_meanwhile_is_no_work():
    watch = Stopwatch()
    time.sleep(0.3)
    assert watch.seconds < 0.15
    began = time.process_time()
    while time.process_time() - began < 0.2:
        pass
    assert watch.seconds >= 0.2


def test_a_gpu_works_while_the_processor_sleeps(monkeypatch):
    watch = Stopwatch()
    monkeypatch.setattr(provenance, "loaded_device", lambda: "cuda")
    time.sleep(0.3)
    assert watch.seconds >= 0.3
