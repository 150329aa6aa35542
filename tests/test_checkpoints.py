"""Checkpoints of a training: each diagnosed, compared, on a page by link; tuning by a verdict."""

import importlib.util
import re
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
import torch

import validation_core as npt
from tests.conftest import ROOT
from validation_core.diagnosis import tasks
from validation_core.store import Store

RNG = np.random.default_rng(0)
THETA = RNG.standard_normal((300, 1)).astype(np.float32)
X = (THETA + 0.5 * RNG.standard_normal((300, 1))).astype(np.float32)


def missing(package):
    return pytest.mark.skipif(
        importlib.util.find_spec(package) is None,
        reason=f"{package} is not installed: pip install {package}",
    )


def draw_by(slope, sd, seed=0):
    """Draws of N(slope x, sd^2): the posterior has 0.8 and 0.45."""

    def draw(x, k):
        noise = np.random.default_rng(seed).standard_normal((len(x), k, 1))
        return torch.as_tensor(slope * x[:, None] + sd * noise)

    return draw


def test_checkpoints_are_diagnosed_compared_and_linked(store):
    checkpoints = npt.Checkpoints(THETA, X, k=50, names=["mu"], store=store)
    for epoch, (slope, sd) in enumerate([(0.5, 0.2), (0.8, 0.45)], 1):
        checkpoints(draw_by(slope, sd), f"epoch {epoch}")
    assert [row["verdict"] for row in checkpoints.rows()] == ["problem found", "no problem found"]
    with pytest.raises(ValueError, match="label of its own"):
        checkpoints(draw_by(0.8, 0.45), "epoch 2")
    compared = checkpoints.compare()
    assert "epoch 2" in compared.sentences[0]
    link = urlsplit(compared.link("https://lab.example.org/", store))
    assert (link.netloc, link.path) == ("lab.example.org", "/compare-posteriors")
    entries = [entry.split("~") for entry in parse_qs(link.query)["tables"]]
    assert [label for _, label in entries] == ["epoch 1", "epoch 2"]
    tasks.live_uploads.clear()
    for digest, label in entries:  # as the page reads them, in a process of its own
        kept = tasks.load_upload(Store(store.root), digest)
        np.testing.assert_array_equal(kept.data.q, checkpoints.tables[label].upload.data.q)
    with pytest.raises(ValueError, match="2 to 12 tables"):
        npt.ComparisonResult(("a",), (), np.empty(0), ()).link()


def test_a_sampler_may_change_x_and_fill_one_array_at_each_epoch(store):
    theta, x = 10 * THETA, 100 + 10 * X
    checkpoints = npt.Checkpoints(theta, x, k=50, store=store)
    filled = np.empty((len(x), 50, 1))

    def draw(x, k):
        x -= 100
        filled[:] = draw_by(0.8, 10 * 0.45, seed=len(checkpoints.tables))(x, k)
        return filled

    for _ in range(2):
        checkpoints(draw)
    assert {row["verdict"] for row in checkpoints.rows()} == {"no problem found"}
    first, second = (table.arrays()["theta_q"] for table in checkpoints.tables.values())
    assert x.mean() > 90
    assert not np.array_equal(first, second)


def test_checkpoints_are_compared_at_the_rows_that_all_of_them_have(store):
    checkpoints = npt.Checkpoints(THETA, X, k=50, store=store)

    def lacking(rows):
        def draw(x, k):
            draws = draw_by(0.8, 0.45, seed=len(rows))(x, k)
            draws[rows] = np.nan
            return draws

        return draw

    for rows in ([], [3, 7], [7, 9, 8]):
        checkpoints(lacking(rows))
    assert [table.n for table in checkpoints.tables.values()] == [300, 298, 297]
    compared = checkpoints.compare()
    assert [upload.n for upload in compared.uploads] == [296] * 3
    assert any(told.startswith("4 rows without finite draws") for told in compared.left_out)


class Normal(torch.nn.Module):
    """q(theta | x) = N(a x, exp(2 s))."""

    def __init__(self):
        super().__init__()
        self.a, self.s = (torch.nn.Parameter(torch.zeros(())) for _ in range(2))

    def log_prob(self, theta, x):
        return torch.distributions.Normal(self.a * x, self.s.exp()).log_prob(theta)

    def sample(self, x, k):
        noise = torch.randn(len(x), k, 1)
        return self.a * torch.as_tensor(x)[:, None] + self.s.exp() * noise


@missing("lightning")
@pytest.mark.filterwarnings("ignore")
def test_lightning_diagnoses_each_epoch_and_trains_as_without(store, tmp_path):
    import lightning

    class Estimator(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.q, self.dropout = Normal(), torch.nn.Dropout(0.1)

        def training_step(self, batch, index):
            theta, x = batch
            return -self.q.log_prob(theta, self.dropout(x)).mean()

        def configure_optimizers(self):
            return torch.optim.Adam(self.parameters(), lr=0.05)

    def trained(callbacks):
        lightning.seed_everything(1, verbose=False)
        data = torch.utils.data.TensorDataset(torch.as_tensor(THETA), torch.as_tensor(X))
        loader = torch.utils.data.DataLoader(data, batch_size=30, shuffle=True)
        estimator = Estimator()
        lightning.Trainer(
            max_epochs=4, accelerator="cpu", logger=False, enable_checkpointing=False,
            enable_progress_bar=False, enable_model_summary=False, callbacks=callbacks,
            default_root_dir=tmp_path,
        ).fit(estimator, loader)  # fmt: skip
        return float(estimator.q.a), float(estimator.q.s)

    checkpoints = npt.Checkpoints(THETA, X, k=30, store=store)
    callback = checkpoints.lightning(lambda module, x, k: module.q.sample(x, k), every=2)
    assert trained([callback]) == trained([])
    assert list(checkpoints.results) == ["epoch 2", "epoch 4"]


@missing("keras")
@pytest.mark.filterwarnings("ignore")
def test_keras_diagnoses_each_epoch(store, monkeypatch):
    monkeypatch.setenv("KERAS_BACKEND", "torch")
    import keras

    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile(loss="mse")
    checkpoints = npt.Checkpoints(THETA, X, k=30, store=store)

    def draw(model, x, k):
        mean = model.predict(x, verbose=0)
        return mean[:, None] + 0.45 * RNG.standard_normal((len(x), k, 1))

    model.fit(X, THETA, epochs=2, verbose=0, callbacks=[checkpoints.keras(draw)])
    assert list(checkpoints.results) == ["epoch 1", "epoch 2"]


def python_in(document):
    """The blocks of Python of a document."""
    text = (ROOT / "docs" / document).read_text(encoding="utf-8")
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_the_loop_of_sbi_in_the_document_runs(tmp_path, monkeypatch, store):
    pytest.importorskip("sbi", reason="sbi is not installed: pip install .[sbi]")
    monkeypatch.chdir(tmp_path)
    (loop,) = [code for code in python_in("training.md") if "resume_training" in code]
    names = {}
    with torch.random.fork_rng():
        exec(compile(loop, "training.md", "exec"), names)
    assert len(names["checkpoints"].results) == 3


@missing("optuna")
@pytest.mark.filterwarnings("ignore")
def test_tuning_by_a_lower_bound_finds_the_posterior(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tuning,) = [code for code in python_in("training.md") if "optuna" in code]
    names = {}
    exec(compile(tuning, "training.md", "exec"), names)
    best = names["study"].best_trial
    assert best.value <= 0.02
    assert abs(np.log(best.params["width"])) < 0.5
    assert not list(Path().iterdir())


def test_a_lower_bound_that_was_not_asked_says_how():
    theta_q = draw_by(0.8, 0.45)(X, 30).numpy()
    result = npt.diagnose(
        npt.Table(THETA, X, theta_q), methods="sbc", questions="none", progress=False
    )
    with pytest.raises(KeyError, match="questions=\\['mend'\\]"):
        result.nats_lower_bound  # noqa: B018
