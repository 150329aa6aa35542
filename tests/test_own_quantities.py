"""Test quantities of a user's own: read from files, evaluated, tested exactly, shown by name."""

import json
import shlex

import numpy as np
import pandas as pd
import pytest

import validation_core as npt
from tests.nulls import NULLS
from validation_core import export
from validation_core.panels.record import pictures
from validation_core.relabelling import relabelled
from validation_core.relabelling.claims import Claims
from validation_core.relabelling.table_statistics import statistics_of
from validation_core.report import html
from validation_core.rng import stream
from validation_core.statistics import binomial_bounds
from validation_core.store import Store
from validation_core.types import Array, PosteriorTable

N, K = 60, 12
OWN = [kind for kind in NULLS if kind.startswith(("own", "log_joint alone", "log_likelihood"))]


def energy(theta: Array, x: Array) -> Array:
    return np.square(theta - x).sum(axis=1)


def arrays(width: float = 1.0, n: int = N) -> dict[str, Array]:
    """A table whose q has the right marginals, but draws of the two parameters that agree."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n, 2))
    noise = rng.standard_normal((n, K + 1, 2)) * width
    return {"theta": x + noise[:, 0], "x": x, "theta_q": x[:, None] + noise[:, 1:]}


def pair(table: dict[str, Array], name: str = "quantity_energy") -> dict[str, Array]:
    theta, x, q = table.values()
    at_draws = energy(q.reshape(-1, 2), np.repeat(x, K, axis=0)).reshape(-1, K)
    return {name: energy(theta, x), f"{name}_draws": at_draws}


def test_a_function_and_its_values_are_one_quantity(tmp_path):
    given = arrays()
    by_function = npt.Table(**given, quantities={"energy": energy})
    by_values = npt.Table(**given, quantities={"energy": tuple(pair(given).values())})
    np.savez(tmp_path / "t.npz", **given, **pair(given))
    export.save(tmp_path / "u.npz", *given.values(), quantities={"energy": energy})
    for table in (by_function, by_values, npt.read(tmp_path / "t.npz")):
        assert table.upload.digest == by_function.upload.digest
        assert list(table.upload.own_quantities) == ["energy"]
        assert table.warnings == table.notes == ()
    saved = npt.read(by_values.save(tmp_path / "v.npz"))
    assert saved.upload.digest == by_values.upload.digest
    packed = npt.read(tmp_path / "u.npz").upload.own_quantities["energy"]
    np.testing.assert_allclose(packed.draws, pair(given)["quantity_energy_draws"], rtol=1e-5)


def test_draws_first_are_turned_with_theta_q():
    given = arrays()
    right = npt.Table(**given, quantities={"energy": energy}).upload.own_quantities["energy"]
    turned = given | {"theta_q": given["theta_q"].swapaxes(0, 1)}
    by_function = npt.Table(**turned, quantities={"energy": energy})
    values = pair(given)
    by_values = npt.Table(
        **turned,
        quantities={"energy": (values["quantity_energy"], values["quantity_energy_draws"].T)},
    )
    for table in (by_function, by_values):
        np.testing.assert_allclose(table.upload.own_quantities["energy"].draws, right.draws)


def test_a_long_table_and_several_files_may_have_one(tmp_path):
    given = arrays()
    whole = given | pair(given)
    for name, array in whole.items():
        np.save(tmp_path / f"{name}.npy", array)
    files = [(f"{name}.npy", tmp_path / f"{name}.npy") for name in whole]
    ((_, upload, _),) = npt.tables.read_files(files)
    assert list(upload.own_quantities) == ["energy"]
    rows = [
        {"sim": i, "draw": j - 1, "theta_a": t[0], "theta_b": t[1], "x_1": given["x"][i, 0]}
        | {"x_2": given["x"][i, 1], "quantity_energy": e}
        for i in range(N)
        for j, (t, e) in enumerate(
            zip(
                [given["theta"][i], *given["theta_q"][i]],
                [whole["quantity_energy"][i], *whole["quantity_energy_draws"][i]],
                strict=True,
            )
        )
    ]
    pd.DataFrame(rows).to_csv(tmp_path / "long.csv", index=False)
    read = npt.read(tmp_path / "long.csv").upload.own_quantities["energy"]
    np.testing.assert_allclose(read.draws, whole["quantity_energy_draws"])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda a: {"quantity_energy": a["quantity_energy"]}, "come with quantity_energy_draws"),
        (
            lambda a: {"quantity_energy_draws": a["quantity_energy_draws"]},
            "must come with quantity_energy (N,)",
        ),
        (
            lambda a: a | {"quantity_energy": a["quantity_energy"][:9]},
            "must hold real numbers of shapes (60,) and (60, 12)",
        ),
        (lambda a: a | {"quantity_energy": np.full(N, np.nan)}, "got NaN in 60 of 60"),
        (
            lambda a: {f"quantity_{i}{end}": a[f"quantity_energy{end}"] for i in range(25)
                       for end in ("", "_draws")},
            "at most 20 quantities; got 25",
        ),
        (lambda a: {"log_likelihood": a["quantity_energy"]}, "come with log_likelihood_draws"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_told(change, said):
    given = arrays()
    upload = npt.Table.of(npt.api.table.as_table(given | change(pair(given))).upload)
    assert any(said in warning for warning in upload.warnings)
    assert len(upload.upload.own_quantities) <= 20


def test_an_unread_array_says_how_it_is_tested_and_that_works(tmp_path):
    given = arrays()
    np.savez(tmp_path / "t.npz", **given, **pair(given, "Energy (kJ)"), other=np.zeros(3))
    notes = npt.read(tmp_path / "t.npz").notes
    (told,) = [note for note in notes if "test quantity" in note]
    words = shlex.split(told.split("read it by ")[1])
    maps = dict(word.split("=") for word in words if word != "--map")
    assert list(npt.read(tmp_path / "t.npz", arrays=maps).upload.own_quantities) == ["energy_kj"]


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda theta, x: theta, "of shape (780, 2) for 780 rows"),
        (lambda theta, x: theta[:, 7], "IndexError"),
        (lambda theta, x: ["a"] * len(theta), "got <U1"),
        ("energy", "got str"),
    ],
)
def test_a_function_that_fails_is_told_by_its_name(function, said):
    with pytest.raises(ValueError, match="The quantity 'mine' must") as refusal:
        npt.Table(**arrays(), quantities={"mine": function})
    assert said in str(refusal.value)


def test_an_unknown_value_leaves_its_row_out_of_that_score_alone():
    given = arrays()
    some = pair(given)
    some["quantity_energy_draws"][:7, 3] = np.nan
    table = npt.Table(**given, quantities={"energy": tuple(some.values()), "other": energy})
    assert any("NaN in 7 rows of 60" in warning for warning in table.warnings)
    own = list(table.upload.own_quantities.values())
    asked = statistics_of(table.upload.data, 0, quantities=own)
    sizes = {part.block.names[0]: len(part.block.rows) for part in asked.battery.parts}
    assert (sizes["own", 0], sizes["own", 1], sizes["theta", 0]) == (53, 60, 60)


def test_truths_in_float64_tie_with_draws_in_float32():
    """A quantity on a grid: the same number must be equal on both sides."""
    given = arrays()
    values = [np.round(v, 1) for v in pair(given).values()]
    values[1] = values[1].astype(np.float32)
    upload = npt.Table(**given, quantities={"energy": tuple(values)}).upload
    one = upload.own_quantities["energy"]
    assert one.truth.dtype == one.draws.dtype == np.float32
    assert any("rounded to float32" in note for note in upload.notes)


def test_rows_that_share_draws_say_that_no_quantity_counts():
    given = arrays()
    given["theta_q"] = np.repeat(given["theta_q"][:1], N, axis=0)
    table = npt.Table(**given, quantities={"energy": energy})
    assert any("energy counts in no test" in warning for warning in table.warnings)


def test_a_table_without_quantities_keeps_its_verdict_to_the_bit():
    given = PosteriorTable(*arrays().values())
    plain = relabelled(given, 0, relabelings=99)
    assert relabelled(given, 0, relabelings=99, quantities=[]).arrays().keys() == (
        plain.arrays().keys()
    )
    assert {"own", "own_over_x"}.isdisjoint(plain.families)


def ignoring_one_of_eight(seed: int) -> tuple[PosteriorTable, dict[str, Array]]:
    """theta ~ N(0, 1), eight data around it, q from seven of them; log p(theta, x)."""
    rng, n, k = np.random.default_rng(seed), 300, 50
    theta = rng.standard_normal((n, 1))
    x = theta + rng.standard_normal((n, 8))
    q = x[:, None, :7].sum(2, keepdims=True) / 8 + rng.standard_normal((n, k, 1)) / np.sqrt(8)

    def log_joint(theta: Array) -> Array:
        return -0.5 * np.square(theta[..., 0]) - 0.5 * np.square(x[:, None] - theta).sum(-1)

    logs = {"log_joint": log_joint(theta[:, None])[:, 0], "log_joint_draws": log_joint(q)}
    return PosteriorTable(theta, x, q), logs


def test_log_joint_alone_finds_a_q_that_ignores_a_datum():
    """The ratio to the normal law of q's draws sees what ranks of single parameters do not."""
    found = 0
    for seed in range(10):
        table, logs = ignoring_one_of_eight(seed)
        own = (logs["log_joint"], logs["log_joint_draws"])
        more = {"densities": logs, "quantities": [own]}
        found += relabelled(table, seed, relabelings=399, share=0.8, **more).pvalue <= 0.05
    assert found >= 8


def test_a_wrong_quantity_is_named_everywhere(tmp_path):
    """q's draws agree in the two parameters where true values do not: no marginal is off."""
    rng = np.random.default_rng(1)
    n, k = 200, 40
    x = rng.standard_normal((n, 1))
    theta = x + rng.standard_normal((n, 2))
    one = rng.standard_normal((n, k))
    two = np.where(rng.random((n, k)) < 0.5, one, rng.standard_normal((n, k)))
    q = x[:, None] + np.stack([one, two * rng.choice([-1, 1], (n, k))], axis=-1)

    def gap(theta: Array, x: Array) -> Array:
        return np.abs(np.subtract(*np.abs(theta - x).T))

    table = npt.Table(theta, x, q, quantities={"gap <b>": gap})
    result = npt.diagnose(table, ["omnibus", "sbc"], "none", progress=False, store=Store(tmp_path))
    said = json.loads(result.to_json())
    (family,) = [one for one in said["families"] if one["family"] == "own"]
    assert family["named"]
    assert family["sentence"].startswith("gap <b>: the true value lies above")
    assert family["claim"] == "place of gap <b>"
    (parameter,) = [one for one in said["parameters"] if one["family"] == "own"]
    assert parameter["name"] == "gap <b>"
    assert parameter["pvalue_adjusted"] <= 0.01
    assert result.card.facts[0].text.startswith("gap <b>: the true value lies above")
    assert "gap <b>" in str(result.card.picture.picture)
    document = html(result.diagnosis, {})
    assert "gap &lt;b&gt;" in document
    assert "gap <b>" not in document.replace("gap \\u003cb>", "")


def test_sbc_ranks_quantities_that_are_known_everywhere(tmp_path):
    given = arrays()
    some = pair(given)
    some["quantity_energy"][0] = np.nan
    table = npt.Table(**given, quantities={"gap": tuple(some.values()), "energy": energy})
    result = npt.diagnose(table, "sbc", "none", progress=False, store=Store(tmp_path))
    assert [one.name for one in result.parameters] == ["theta_1", "theta_2", "energy"]
    (record,) = result.records
    assert record.effect.quantities == ("energy",)
    assert record.arrays["u"].shape == (3, N)
    assert "energy" in str(pictures(record, names=table.names)[0].picture)


@pytest.mark.slow
@pytest.mark.parametrize("kind", OWN)
def test_the_level_of_own_quantities(kind):
    p = []
    for trial in range(500):
        table, more = NULLS[kind](stream(trial, "own quantities", kind), N, K)
        p.append(relabelled(table, trial, relabelings=99, **more).pvalue)
    low, high = binomial_bounds(len(p), 0.05, 1 - 1e-4)
    count = int((np.array(p) <= 0.05).sum())
    assert count <= high
    assert count >= low or "rounded" in kind


def test_a_change_of_a_quantity_over_x_is_a_family_of_its_own():
    """Too large where x is high, too small where it is low: right on average over x."""
    rng = np.random.default_rng(2)
    x = rng.standard_normal((200, 1))
    theta, q = rng.standard_normal((200, 1)), rng.standard_normal((200, K, 1))
    own = (theta[:, 0] + np.sign(x[:, 0]), q[..., 0])
    result = relabelled(PosteriorTable(theta, x, q), 0, relabelings=199, quantities=[own])
    claims = Claims(result, 0.05, ("energy",))
    (family,) = [one for one in claims.families() if one["family"] == "own_over_x"]
    assert family["pvalue"] <= 0.05
    assert family["named"]
    assert family["claim"] == "place of energy, changing along x_1"
    assert claims.over_x(0) > 0.05
