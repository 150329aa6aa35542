"""The optimiser takes the steps of torch's own, to the bit."""

import numpy as np
import pytest
import torch

from validation_core.learn.adam import Adam
from validation_core.rng import stream


def _parameters():
    rng = stream(0, "optim")
    shapes = {"first": (37, 19), "bias": (19,), "second": (19, 3)}
    return {
        name: torch.from_numpy(rng.standard_normal(shape).astype(np.float32)).requires_grad_()
        for name, shape in shapes.items()
    }


def _loss(named, step):
    z = torch.from_numpy(stream(step, "rows").standard_normal((64, 37)).astype(np.float32))
    return (torch.tanh(z @ named["first"] + named["bias"]) @ named["second"]).square().mean()


def _run(named, adam, cool, steps):
    for step in range(steps):
        adam.zero_grad()
        _loss(named, step).backward()
        adam.step()
        cool()
    return {name: tensor.detach().numpy() for name, tensor in named.items()}


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("decay", [0.0, 0.01])
@pytest.mark.parametrize(("over", "steps"), [(40, 40), (40, 41), (100, 60), (None, 30)])
def test_it_is_the_adam_of_torch(decay, over, steps, fused):
    parameters = _parameters()
    mine = Adam(
        [((parameters["first"], parameters["bias"]), 1e-2), ((parameters["second"],), 3e-3)],
        over=over, decay=decay, fused=fused,
    )  # fmt: skip
    result = _run(parameters, mine, mine.step_schedule, steps)
    parameters = _parameters()
    groups = [
        {"params": [parameters["first"], parameters["bias"]], "lr": 1e-2},
        {"params": [parameters["second"]], "lr": 3e-3},
    ]
    theirs = torch.optim.AdamW(groups, weight_decay=decay, fused=fused)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(theirs, over) if over else None
    wanted = _run(parameters, theirs, schedule.step if schedule else lambda: None, steps)
    for name in wanted:
        np.testing.assert_array_equal(result[name], wanted[name])
        assert not np.array_equal(result[name], _parameters()[name].detach().numpy())


def test_a_parameter_without_a_gradient_stays_where_it_is():
    moved, left = (torch.ones(3, requires_grad=True) for _ in range(2))
    adam = Adam([([moved, left], 0.1)], decay=0.1)
    moved.sum().backward()
    adam.step()
    assert (moved < 1).all()
    assert (left == 1).all()


def test_rates_end_at_zero():
    tensor = torch.ones(3, requires_grad=True)
    adam = Adam([([tensor], 0.1)], over=2)
    for _ in range(3):
        adam.step_schedule()
    tensor.sum().backward()
    adam.step()
    assert (tensor == 1).all()
