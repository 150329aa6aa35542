"""Examples in docstrings of the public names run as shown; they share the table of `Table`'s."""

import doctest

import pytest

import validation_core as npt

OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL
NAMES = [name for name in npt.__all__ if callable(getattr(npt, name))]


def run_examples(name, names):
    """Outcome of the examples of one public name, whose variables stay in `names`."""
    kind = getattr(npt, name)
    (test,) = doctest.DocTestFinder(recurse=False).find(kind, name, module=False, globs=names)
    test.globs = names
    return doctest.DocTestRunner(optionflags=OPTIONS).run(test, clear_globs=False)


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """One store for all examples, so that each network is trained once."""
    return tmp_path_factory.mktemp("examples")


@pytest.mark.usefixtures("short_training")
@pytest.mark.parametrize("name", NAMES)
def test_examples_run_as_shown(name, cache, tmp_path, monkeypatch):
    monkeypatch.setenv("NPTLAB_CACHE", str(cache))
    monkeypatch.chdir(tmp_path)
    names = {}
    run_examples("Table", names)
    outcome = run_examples(name, names)
    assert outcome.attempted > 0
    assert outcome.failed == 0
