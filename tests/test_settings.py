"""Settings of the environment: known in one place, and said at the start where one is wrong."""

import os
import subprocess
import sys

import pytest

from tests.conftest import ROOT
from tests.server import free_port
from tests.test_docs import SETTING, source_files, table_rows
from validation_core import settings
from validation_core.cli import main
from validation_core.settings import SETTINGS

WRONG = {
    "NPTLAB_CACHE": ["~nobody-of-this-name/cache"],
    "NPTLAB_FILES": ["/no/such/folder", "README.md"],
    "NPTLAB_CIFAR10": ["/no/such/folder", "README.md"],
    "NPTLAB_PROBES": ["/no/such/file.npy", "README.md", "."],
    "NPTLAB_ENGINE": ["x", "Local", " "],
    "NPTLAB_WORKERS": ["0", "-1", "two", "1.5", "257", "9" * 5000, "²"],
    "NPTLAB_SCHEDULER": ["foo", "8786", "tcp://host", "tcp://host:port", "tcp://host:99999", ":1"],
    "NPTLAB_FALLBACK": ["yes", "serial"],
    "NPTLAB_DEVICE": ["gpu", "cuda:", "cpu,cuda"],
    "NPTLAB_PUBLIC": ["yes", "2"],
    "NPTLAB_HOSTS": ["http://lab.example", "lab.example:80", "a/b", "*", "lab.*.org", "*.*.org"],
    "NPTLAB_EMBED": ["*", "https://*.org", "a.org", "https://a.org/x", "https://a;b"],
    "NPTLAB_ADMIN": ["12"],
    "NPTLAB_AGENTS": ["1"],
    "NPTLAB_LIMITS": ["jobs=0/3", "jobs=4/3", "jobs=4", "cats=1/2", "jobs=-1/2", "jobs=1e3/2"],
}
RIGHT = {
    "NPTLAB_CACHE": ["/no/such/folder", "~/cache", "relative"],
    "NPTLAB_FILES": [str(ROOT)],
    "NPTLAB_CIFAR10": [str(ROOT)],
    "NPTLAB_ENGINE": ["local", "serial"],
    "NPTLAB_WORKERS": ["1", "4", "256"],
    "NPTLAB_SCHEDULER": ["tcp://host:8786", "host:8786", "tls://[::1]:8786"],
    "NPTLAB_FALLBACK": ["local"],
    "NPTLAB_DEVICE": ["cpu", "cuda", "cuda:1", "mps"],
    "NPTLAB_PUBLIC": ["0", "1"],
    "NPTLAB_HOSTS": ["lab.example, Other.example", "*.example.org"],
    "NPTLAB_EMBED": ["https://a.org, http://b.org:8080"],
    "NPTLAB_ADMIN": ["open sesame, please"],
    "NPTLAB_AGENTS": ["open-sesame,-please"],
    "NPTLAB_LIMITS": ["jobs=4/40 pages=20/200", "tables=1/2"],
}
ROWS = table_rows("docs/operating.md", "Settings")
CASES = [(name, text) for name, texts in WRONG.items() for text in texts]


@pytest.fixture(autouse=True)
def _bare(monkeypatch):
    """Without settings of whoever runs the tests."""
    for setting in SETTINGS:
        if setting.name not in ("NPTLAB_CACHE", "NPTLAB_ENGINE"):
            monkeypatch.delenv(setting.name, raising=False)


@pytest.mark.parametrize(("name", "text"), CASES)
def test_what_a_setting_may_not_say_is_refused_in_one_line(monkeypatch, name, text):
    """The rule, what was got, and what to do."""
    monkeypatch.setenv(name, text)
    with pytest.raises(ValueError, match=name) as refusal:
        settings.check(server=True)
    said = str(refusal.value)
    assert said.startswith(name)
    assert "; got " in said
    assert "\n" not in said
    assert said.endswith(".")


@pytest.mark.parametrize(
    ("name", "text"), [(name, text) for name, texts in RIGHT.items() for text in texts]
)
def test_what_a_setting_may_say_is_taken(monkeypatch, name, text):
    monkeypatch.setenv(name, text)
    settings.check(server=True)


def test_what_is_not_set_or_empty_is_as_usual(monkeypatch):
    settings.check(server=True)
    for setting in SETTINGS:
        monkeypatch.setenv(setting.name, "")
        assert setting.value() == setting.usual


def test_every_setting_is_tried_here():
    assert set(WRONG) == {setting.name for setting in SETTINGS}
    assert len(WRONG) == len(SETTINGS)


def test_nobody_else_reads_the_environment_for_a_setting():
    """Another reader would have another opinion of what it may say."""
    readers = {
        str(path.relative_to(ROOT))
        for path in source_files()
        if path.relative_to(ROOT).parts[0] not in {"tests", "benchmarks"}
        for line in path.read_text("utf-8").splitlines()
        if ("os.environ" in line or "getenv" in line) and SETTING.search(line)
    }
    assert readers == set()


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
def test_the_documents_say_of_each_what_the_program_does(setting):
    (words,) = [about for name, about in ROWS if name == f"`{setting.name}`"]
    assert setting.about in words


def test_the_documents_know_no_other_but_those_of_the_tests():
    named = {name for cells in ROWS for name in SETTING.findall(cells[0])}
    own = {"NPTLAB_PEERS", "NPTLAB_CHROMIUM"}
    assert named == {setting.name for setting in SETTINGS} | own


def test_whoever_runs_a_server_for_others_finds_each_of_its_settings():
    text = (ROOT / "docs" / "operating.md").read_text("utf-8").split("## Open it to others")[1]
    named = set(SETTING.findall(text))
    assert named <= {setting.name for setting in SETTINGS}
    assert {setting.name for setting in SETTINGS if setting.server} - named == {"NPTLAB_FILES"}


@pytest.mark.parametrize(
    ("name", "text"), [(name, texts[0]) for name, texts in WRONG.items()], ids=WRONG
)
def test_a_command_ends_in_that_line_where_the_setting_concerns_it(
    monkeypatch, capsys, name, text
):
    monkeypatch.setenv(name, text)
    (setting,) = [one for one in SETTINGS if one.name == name]
    assert main(["methods"]) == (0 if setting.server else 2)
    heard = capsys.readouterr()
    if not setting.server:
        assert heard.out == ""
        (line,) = heard.err.strip().splitlines()
        assert line.startswith(f"error: {name} ")


@pytest.mark.parametrize("name", ["NPTLAB_ENGINE", "NPTLAB_WORKERS", "NPTLAB_SCHEDULER"])
def test_a_real_server_ends_at_once_in_that_line(name, tmp_path):
    """`streamlit run app.py`: it takes no request, and its exit code is 2."""
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.headless", "true",
               "--server.port", str(free_port())]  # fmt: skip
    env = {**os.environ, name: WRONG[name][0], "NPTLAB_CACHE": str(tmp_path / "cache")}
    ended = subprocess.run(
        command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode == 2
    (line,) = ended.stderr.strip().splitlines()
    assert line.startswith(f"error: {name} ")
    assert not (tmp_path / "cache").exists()
