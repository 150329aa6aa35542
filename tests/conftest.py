"""Shared by all tests: one thread, a store for each test, the shared data where it is."""

import os
import sys

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"  # of each worker of pytest-xdist
os.environ.setdefault("NPTLAB_ENGINE", "serial")
if hasattr(os, "nice"):
    os.nice(19)  # no more than workers have, which yield to pages: beside tests they would starve
# Servers, workers and command lines start some hundred times: each module is compiled once.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

import gc  # noqa: E402
import json  # noqa: E402
from collections.abc import Iterator  # noqa: E402
from concurrent.futures import Executor, Future  # noqa: E402
from contextlib import contextmanager  # noqa: E402
from dataclasses import replace  # noqa: E402
from functools import cache  # noqa: E402
from itertools import count  # noqa: E402
from pathlib import Path  # noqa: E402

import numpy as np  # noqa: E402
import pytest  # noqa: E402
from hypothesis import settings  # noqa: E402

from pages.ui.services import services  # noqa: E402
from validation_core import engine  # noqa: E402
from validation_core.scores.classifier import Classifier  # noqa: E402
from validation_core.scores.upload_training import USUAL, UploadTraining, trained_by  # noqa: E402
from validation_core.store import Store  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"
GOLDEN = ROOT / "tests" / "golden"

# Fresh examples in each run; those that fail are printed. `--hypothesis-profile thousands` tries
# more, and the same ones every time.
settings.register_profile("hundreds", max_examples=500, deadline=None, derandomize=False)
settings.register_profile(
    "thousands", max_examples=5000, deadline=None, derandomize=True, database=None
)
settings.load_profile("hundreds")


class FailuresAtOnce:
    """Names a failure when it happens: a run that is ended in the middle prints no summary."""

    def __init__(self, reporter) -> None:
        self.reporter = reporter

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.reporter.ensure_newline()
            self.reporter.write_line(f"{report.when} failed: {report.nodeid}", red=True)


@pytest.hookimpl(trylast=True)
def pytest_configure(config):
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter and not hasattr(config, "workerinput"):
        config.pluginmanager.register(FailuresAtOnce(reporter))


def pytest_collection_modifyitems(config, items):
    """What takes an hour runs where it is asked for by name."""
    if "soak" not in config.option.markexpr:
        soak = [item for item in items if item.get_closest_marker("soak")]
        config.hook.pytest_deselected(items=soak)
        items[:] = [item for item in items if not item.get_closest_marker("soak")]


def pytest_collection_finish():
    """What is done once: modules are not looked through for garbage, nor for components.

    AppTest would look for installed components of Streamlit before every run, and compile every
    script of a page anew, which a server does once.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    if "streamlit.testing.v1" in sys.modules:
        from streamlit.components.v2 import manifest_scanner
        from streamlit.runtime.scriptrunner.script_cache import ScriptCache

        once = cache(manifest_scanner.scan_component_manifests)
        manifest_scanner.scan_component_manifests = once
        compiled_anew = ScriptCache.get_bytecode

        @cache
        def compiled(path, written):
            return compiled_anew(ScriptCache(), path)

        ScriptCache.get_bytecode = lambda self, path: compiled(path, os.stat(path).st_mtime_ns)

        from streamlit.testing.v1 import local_script_runner

        asked_every_millisecond = local_script_runner.require_widgets_deltas

        def ended(runner, timeout=3):
            runner._script_thread.join(timeout)
            asked_every_millisecond(runner, 0.01)

        local_script_runner.require_widgets_deltas = ended


_CACHES = count()


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory, monkeypatch):
    """No test reads or writes the user's cache; of thousands of caches few are ever written."""
    folder = tmp_path_factory.getbasetemp() / "caches" / str(next(_CACHES))
    monkeypatch.setenv("NPTLAB_CACHE", str(folder))


QUICK = UploadTraining(
    classifier=Classifier(epochs=4, lr=1e-2, batch=64, hidden=8, layers=2),
    localizer={"steps": 8, "batch": 16, "draws_step": 4, "hidden": 8, "layers": 1,
               "start": "origin"},
)  # fmt: skip
"""Networks that learn little from an upload, where what is said of them is tested."""
SHORT = UploadTraining(
    classifier=replace(USUAL.classifier, epochs=20),
    localizer={**USUAL.localizer, "steps": 20, "blur_steps": 20},
)
"""The usual networks after a tenth of the steps, where an error is plain."""


@pytest.fixture
def quick_training():
    """Uploads are learnt from for no time."""
    with trained_by(QUICK):
        yield


def train_classifier(data, recipe, seed):
    """One classifier, trained alone."""
    return recipe.learn_all([data], [seed])[0]


@pytest.fixture
def short_training():
    """Uploads are learnt from for a tenth of the time."""
    with trained_by(SHORT):
        yield


def in_turn(first: int, full: int) -> pytest.MarkDecorator:
    """A level at fewer trials, within their own binomial bound; a slow test repeats it in full."""
    slow = pytest.param(full, marks=pytest.mark.slow)
    return pytest.mark.parametrize("trials", [first, slow])


def few_trials(patch: pytest.MonkeyPatch) -> None:
    """Few simulated tables tell what would have been caught: enough to have an answer."""
    from validation_core.diagnosis.questions.sensitivity import experiment

    patch.setattr(experiment, "trial_count", lambda *sizes: 50)


def few_injected(patch: pytest.MonkeyPatch) -> None:
    """Few injected tables of each defect, which name a strong one as well as many do."""
    from validation_core.diagnosis.questions.cause import reference_sets

    patch.setattr(reference_sets, "TABLES_OF_EACH", 12)


@pytest.fixture
def store(tmp_path) -> Store:
    """An empty store on disk."""
    return Store(tmp_path / "store")


@pytest.fixture
def page(request):
    """The script PAGE of a test's own file, under AppTest, before its first run."""
    from streamlit.testing.v1 import AppTest

    return AppTest.from_file(request.module.PAGE, default_timeout=120)


@pytest.fixture
def _few_trials(monkeypatch):
    few_trials(monkeypatch)


@pytest.fixture
def _few_injected(monkeypatch):
    few_injected(monkeypatch)


class Idle(Executor):
    """Accepts all work and does none: its jobs wait."""

    def submit(self, fn, /, *args, **options):
        return Future()


def leave_waiting(patch: pytest.MonkeyPatch) -> None:
    """Servers that start from now on register work and never perform it."""
    start = engine.start

    def idle(*args):
        store = start(*args).store
        return engine.Services(store, engine.Engine(store, Idle()))

    patch.setattr(engine, "start", idle)


@contextmanager
def nothing_worked_out(folder: Path) -> Iterator[None]:
    """Pages that open meanwhile find a store of this folder, and leave their work waiting.

    For the example that a page opens with, where a test makes networks so small that its shipped
    answers are not what the page asks for.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NPTLAB_CACHE", str(folder))
        leave_waiting(patch)
        services.clear()
        yield
    services.clear()


@pytest.fixture
def _new_server():
    """Pages open a server that no other test has used."""
    services.clear()
    yield
    services.clear()


@pytest.fixture
def _idle(monkeypatch, _new_server):
    """An engine that works nothing out, for pages whose results do not matter to a test."""
    leave_waiting(monkeypatch)


def pytest_addoption(parser):
    parser.addoption(
        "--update-golden", action="store_true", help="write the texts of tests/golden anew"
    )
    parser.addoption(
        "--exact",
        action="store_true",
        help="shipped numbers to the bit: on the machine that made the gallery",
    )


@pytest.fixture
def golden(request):
    """A function: name, lines -> they are those of tests/golden/NAME.txt."""

    def check(name, lines):
        path, text = GOLDEN / f"{name}.txt", "\n".join(lines) + "\n"
        if request.config.getoption("--update-golden"):
            path.write_text(text, encoding="utf-8")
        wanted = path.read_text(encoding="utf-8") if path.exists() else ""
        assert text == wanted, "--update-golden writes what is meant"

    return check


@pytest.fixture
def shared() -> Path:
    """The folder of real tables and reference numbers, where a checkout has it."""
    if not SHARED.is_dir():
        pytest.skip("the folder of reference numbers and real tables is not beside this checkout")
    return SHARED


@pytest.fixture
def reference(shared):
    """A function: case id -> (case, its arrays, its expected arrays)."""
    folder = shared / "reference"
    cases = {case["id"]: case for case in json.loads((folder / "reference.json").read_text())}

    def load(name):
        case = cases[name]
        arrays = {}
        for file in case["inputs"]:
            arrays |= dict(np.load(folder / file))
        expected = case["expected_arrays"]
        return case, arrays, dict(np.load(folder / expected["file"])) if expected else {}

    return load
