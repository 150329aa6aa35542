"""Networks run where NPTLAB_DEVICE says, all of each on one device, and agree with the processor.

A GPU is played by a stand-in; where there is one that speaks CUDA, the last test uses it.
"""

import sys
from contextlib import nullcontext
from functools import cache

import numpy as np
import pytest
import torch

import validation_core as npt
from tests.stand_in import StandInGPU
from validation_core import methods, sampling
from validation_core.benchmarks.gaussian import Gaussian
from validation_core.benchmarks.sphere_flow import ConditionalFlow, SphereFlow
from validation_core.learn import perceptron
from validation_core.rng import stream
from validation_core.scores import localizer_training
from validation_core.scores.classifier import Classifier
from validation_core.scores.lc2st import LC2STClassifier
from validation_core.scores.localizer import Localizer
from validation_core.scores.slots import Slots
from validation_core.statistics import mmd, mmd_fuse
from validation_core.types import BlockScores


@pytest.fixture(autouse=True)
def _short_fit(monkeypatch):
    """Where a localizer starts is fitted in few steps: where it is fitted is what matters."""
    monkeypatch.setattr(localizer_training, "CENTRE_FIT_STEPS", 20)


TABLE = sampling.table(Gaussian(), 0.1, 60, 20, stream(0, "table"))


def _learnt(recipe, data):
    (network,) = recipe.learn_all([data], [0])
    return network


def _of_table(recipe):
    network = _learnt(recipe, recipe.of_table(TABLE, stream(0, "rows")))
    return network.device, network.at().table(TABLE).draws


def _classifier():
    recipe = Classifier(train=300, epochs=3, hidden=32)
    network = _learnt(recipe, recipe.sample(Gaussian(), 0.1, stream(0, "rows")))
    return network.device, network.at().table(TABLE).draws


def _flow():
    recipe = ConditionalFlow(pairs=600, epochs=1)
    pairs = recipe.sample(SphereFlow(), 0.0, stream(0, "pairs"))
    flow, theta, x = _learnt(recipe, pairs), pairs.theta[:50], pairs.x[:50]
    return flow.device, np.concatenate([flow.forward(theta, x)[0], flow.inverse(theta, x)])


def _mmd_fuse():
    p, q = stream(0).standard_normal((2, 200, 3))
    labels, device = mmd_fuse.relabelings(200, 200, 19, stream(1)), perceptron.pick_device()
    return device, mmd_fuse.kernels(mmd.distances(p, q), labels, device=device).normalised


def _lc2st():
    score = LC2STClassifier(nulls=3, epochs=3).learn(TABLE, stream(0, "local"))
    return perceptron.pick_device(), score(TABLE.theta, TABLE.x)


LEARNERS = {
    "classifier": _classifier,
    "localizer": lambda: _of_table(Localizer(embedding="residual", steps=12, blur_steps=6)),
    "discriminative calibration": lambda: _of_table(methods.DC().recipe(60, 19, Gaussian())),
    "score within x": lambda: _of_table(
        Slots(n=60, k=20, m=8, scored=10, whole=20, trees=2, cuts=20, folds=2, context=10)
    ),
    "flow": _flow,
    "local classifiers": _lc2st,
    "mmd-fuse": _mmd_fuse,
}


@cache
def _on_processor(name):
    """What a learner scores on the processor, for either device."""
    return LEARNERS[name]()[1]


@pytest.mark.parametrize("device", ["mps", "cuda:1"])
@pytest.mark.parametrize("name", LEARNERS)
def test_each_learner_runs_on_the_device_and_scores_as_on_the_processor(name, device):
    """`mps` refuses float64, and cuda:1 is not cuda:0: on either a tensor elsewhere raises."""
    expected = _on_processor(name)
    with StandInGPU(device) as gpu:
        where, scores = LEARNERS[name]()
    assert where == device
    assert gpu.made > 50
    np.testing.assert_allclose(scores, expected, rtol=1e-5, atol=1e-5)


def test_a_localizer_scores_on_the_device():
    recipe = Localizer(embedding="residual", steps=2, blur_steps=2)
    score = _learnt(recipe, recipe.of_table(TABLE, stream(0, "rows"))).at()
    with StandInGPU() as gpu:
        on_gpu = score.table(TABLE).draws
    assert gpu.made > 10
    np.testing.assert_allclose(on_gpu, score.table(TABLE).draws, rtol=1e-5, atol=1e-5)


def test_a_diagnosis_runs_where_float64_is_refused(tmp_path, quick_training):
    """Apple's: whatever it asks of double precision is asked of the processor."""
    table = npt.Table(TABLE.theta, TABLE.x, TABLE.q)
    pvalues = {}
    for device in ("cpu", "mps"):
        with StandInGPU("mps") if device == "mps" else nullcontext():
            found = npt.diagnose(
                table, ["c2st", "colt", "sbc"], "none", store=npt.Store(tmp_path / device)
            )
        pvalues[device] = list(found.pvalues.values())
    assert pvalues["mps"] == pytest.approx(pvalues["cpu"], abs=0.1)


def test_mmd_fuse_runs_on_a_named_device_before_any_network_was_loaded(monkeypatch):
    p, q = stream(0).standard_normal((2, 3, 40))
    test = methods.MMDFuse(permutations=19)
    expected = test.test(BlockScores(p, q), stream(1)).pvalue
    monkeypatch.delitem(sys.modules, "validation_core.learn.perceptron")
    with StandInGPU() as gpu:
        found = test.test(BlockScores(p, q), stream(1)).pvalue
    assert gpu.made > 10
    assert found == expected


def test_the_stand_in_refuses_what_a_gpu_refuses():
    with StandInGPU():
        there = torch.ones(2).to("mps")
        assert str(there.device) == "mps"
        with pytest.raises(TypeError, match="float64"):
            there.double()
        with pytest.raises(RuntimeError, match="same device"):
            there + torch.ones(2)
        with pytest.raises((TypeError, RuntimeError)):
            there.numpy()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="this machine has no CUDA")
@pytest.mark.parametrize("name", LEARNERS)
def test_a_gpu_agrees_with_the_processor(name, monkeypatch):
    """Their products round otherwise, a little more with every step of a training."""
    found = {}
    for device in ("cpu", "cuda"):
        monkeypatch.setenv("NPTLAB_DEVICE", device)
        where, found[device] = LEARNERS[name]()
        assert where == device
    spread = found["cpu"].std()
    assert np.sqrt(np.mean((found["cuda"] - found["cpu"]) ** 2)) < 0.05 * spread
