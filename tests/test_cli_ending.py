"""How the command begins and ends: told to stop at any moment, whatever its streams are."""

import itertools
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import ROOT
from tests.test_cli import refused
from validation_core import keys
from validation_core.cli import main
from validation_core.engine import SelfCheck
from validation_core.store import Store
from validation_core.tables import samples

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals and shells of POSIX")
COMMAND = [sys.executable, "-m", "validation_core"]
POWER = ["power", "--benchmark", "gaussian", "--method", "c2st", "--gamma", "0,0.3",
         "--trials", "200", "--n", "50", "--k", "10"]  # fmt: skip
SAMPLE = str(samples.sample_path("sample_undertrained"))
SLOW = {
    "on workers": [*POWER, "--engine", "local"],
    "in this process": [*POWER, "--engine", "serial"],
    "a diagnosis": ["diagnose", SAMPLE],
}


def stopped(arguments, seconds, number, tmp_path, whole_group=True):
    """How a command ends that is told to stop after some time, and what it has written."""
    env = {**os.environ, "NPTLAB_CACHE": str(tmp_path / "cache"), "TMPDIR": str(tmp_path)}
    process = subprocess.Popen(
        [*COMMAND, *arguments], cwd=ROOT, env=env, process_group=0,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=_listening,
    )  # fmt: skip
    time.sleep(seconds)
    if whole_group:  # as a terminal does
        os.killpg(process.pid, number)
    else:
        process.send_signal(number)
    out, err = process.communicate()
    return process.returncode, out.decode() + err.decode(), process.pid


def _listening():
    """Whoever runs these tests may be a job in the background, which Ctrl-C does not reach."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def check_stop(arguments, seconds, number, tmp_path):
    code, text, pid = stopped(arguments, seconds, number, tmp_path)
    if code == -number or seconds < 0.15:  # Python itself was still starting
        return "early"
    assert "Traceback" not in text, text
    assert "Exception ignored" not in text, text
    assert "KeyboardInterrupt" not in text, text
    assert code in (0, 128 + number)
    assert not [path for path in Path("/dev/shm").glob("nptlab-*") if f"-{pid}-" in path.name]
    assert code == 0 or text.splitlines()[-1] == "stopped"
    return "stopped" if code else "done"


ENDS = (signal.SIGINT, signal.SIGTERM)


@pytest.mark.parametrize(
    ("where", "number", "latest"),
    [*zip(SLOW, itertools.cycle(ENDS), itertools.repeat(2.5), strict=False),
     *(pytest.param(where, number, 5.0, marks=pytest.mark.slow)
       for where in SLOW for number in ENDS)],
)  # fmt: skip
def test_a_command_that_is_told_to_stop_ends_quietly(where, number, latest, tmp_path):
    rng = random.Random(f"{where} {number}")
    check_stop(SLOW[where], rng.uniform(0.2, latest), number, tmp_path)


@pytest.mark.soak
@pytest.mark.parametrize("where", SLOW)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_command_may_be_told_to_stop_at_any_moment(where, number, tmp_path):
    rng = random.Random(f"{where} {number}")
    ends = [check_stop(SLOW[where], rng.uniform(0.05, 6), number, tmp_path) for _ in range(20)]
    assert "stopped" in ends


def test_what_is_ignored_stays_so(tmp_path):
    """As nohup and a script's jobs in the background are started."""
    script = f"trap '' INT HUP; echo ready; exec {sys.executable} -m validation_core methods"
    process = subprocess.Popen(["sh", "-c", script], cwd=ROOT, stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"ready\n"
    time.sleep(0.5)
    for number in (signal.SIGINT, signal.SIGHUP):
        process.send_signal(number)
    out, _ = process.communicate()
    assert process.returncode == 0
    assert b"omnibus" in out


WAITING = """
import sys
import time
import numpy as np
from validation_core.cli.process import prepare_process
from validation_core.store import Store

prepare_process()
store = Store(sys.argv[1])
write = store._write

def full(root, *arguments):
    if root == store.root:
        raise OSError(28, "No space left on device")
    return write(root, *arguments)

store._write = full
store.save("results", "k", {"a": np.arange(3)}, spec="spec", meta={})
del store._write
print("saved", flush=True)
time.sleep(60)
"""


def test_results_kept_in_memory_are_moved_to_the_disk(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-c", WAITING, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE,
        preexec_fn=_listening,
    )  # fmt: skip
    assert process.stdout.readline() == b"saved\n"
    assert not Store(tmp_path).has("results", "k")
    process.terminate()
    process.communicate()
    assert process.returncode == 128 + signal.SIGTERM
    assert Store(tmp_path).load("results", "k").arrays["a"].tolist() == [0, 1, 2]
    assert not [path for path in Path("/dev/shm").glob(f"nptlab-*-{process.pid}-*")]


@pytest.mark.parametrize("streams", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-", "| head -n 1"])
def test_streams_may_be_closed(streams, tmp_path):
    script = f"{sys.executable} -m validation_core methods {streams}"
    run = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {script}"], cwd=ROOT, capture_output=True, text=True
    )
    assert run.returncode in ((0, 141) if "head" in streams else (0,))
    assert run.stderr == ""


@pytest.mark.parametrize("method", ["sbc", pytest.param("c2st", marks=pytest.mark.slow)])
def test_work_goes_on_without_any_stream(method, tmp_path):
    """Nothing that is opened meanwhile becomes the standard output."""
    result = tmp_path / "result.json"
    command = f"{sys.executable} -m validation_core {' '.join(POWER)} --engine local"
    command = command.replace("c2st", method).replace("200", "20")
    script = f"{command} --json {result} <&- >&- 2>&-"
    env = {**os.environ, "NPTLAB_CACHE": str(tmp_path / "cache")}
    assert subprocess.run(["bash", "-c", script], cwd=ROOT, env=env).returncode == 0
    assert len(json.loads(result.read_text())["cells"]) == 2
    assert Store(tmp_path / "cache").verify() == []


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_any_terminal_shows_any_name(encoding, tmp_path):
    rng = np.random.default_rng(0)
    names = ["θ → \U0001f600", "a\ud800b\x1b[31m"]
    path = tmp_path / "tab\udcffle.npz"
    theta = rng.normal(size=(60, 2))
    with open(os.fsencode(path), "wb") as file:
        np.savez(file, theta=theta, x=theta, theta_q=rng.normal(size=(60, 20, 2)),
                 theta_names=np.array(names))  # fmt: skip
    env = {**os.environ, "PYTHONIOENCODING": encoding, "NPTLAB_CACHE": str(tmp_path / "cache")}
    arguments = ["diagnose", os.fsencode(path), "--method", "sbc", "--answers", "none"]
    run = subprocess.run([*COMMAND, *arguments], cwd=ROOT, env=env, capture_output=True)
    assert b"Traceback" not in run.stderr, run.stderr.decode(errors="replace")
    assert run.returncode in (0, 2)
    run.stdout.decode(encoding)


def test_verify_ends_with_one_where_something_is_damaged(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("NPTLAB_CACHE", str(tmp_path))
    store = Store(tmp_path)
    for seed in range(4):
        spec = keys.canonical_text(SelfCheck(seed=seed))
        store.save("results", f"k{seed}", {"a": np.zeros(99)}, spec=spec, meta={})
    assert main(["store", "verify"]) == 0
    contents = [b"no archive", b"PK\x03\x04", b"", b"\x80\x04K\x01."]  # the last is a pickle
    for seed, content in enumerate(contents):
        store.path_of("results", f"k{seed}").write_bytes(content)
    capsys.readouterr()
    assert main(["store", "verify", "--json", "-"]) == 1
    problems = json.loads(capsys.readouterr().out)["problems"]
    assert len(problems) == 4
    for problem in problems:
        assert "cut short or was overwritten" in problem
        assert "pickle" not in problem
    assert main(["store", "verify"]) == 0


def test_a_file_that_breaks_its_reader_is_refused_by_its_name(tmp_path, capsys):
    """Names of characters that there are not, beside a sound file."""
    rng = np.random.default_rng(0)
    theta = rng.normal(size=(60, 2))
    arrays = {"theta": theta, "x": theta, "theta_q": rng.normal(size=(60, 20, 2))}
    names = np.zeros(2, "U4")
    names.view(np.uint32)[:] = 0x110000
    good, bad = str(tmp_path / "good.npz"), str(tmp_path / "bad.npz")
    np.savez(good, **arrays)
    arrays["theta_q"] = rng.normal(size=(60, 20, 2))
    np.savez(bad, **arrays, theta_names=names)
    for arguments in (["diagnose", bad, "--method", "sbc"], ["compare", good, bad]):
        assert main(arguments) in (0, 2)
        heard = capsys.readouterr()
        assert "Traceback" not in heard.err
        if heard.err.startswith("error"):
            assert len(heard.err.strip().splitlines()) == 1
            assert bad in heard.err


REFUSED = [
    (["diagnose", SAMPLE, "--budget", "-1"], "0 or more"),
    (["diagnose", SAMPLE, "--budget", "nan"], "0 or more"),
    (["diagnose", SAMPLE, "--alpha", "x"], "between 0 and 1"),
    (["diagnose", SAMPLE, "--alpha", "nan"], "between 0 and 1"),
    (["diagnose", SAMPLE, "--seed", "-1"], "a seed is a whole number, 0 or more; got '-1'"),
    (["compare", SAMPLE, SAMPLE, "--seed", "1.5"], "a seed is a whole number"),
    (["mend", SAMPLE, "--seed", "x"], "a seed is a whole number"),
    (["observation", SAMPLE, "--row", "1", "--seed", "-1"], "a seed is a whole number"),
    (["divergence", "--seed", "-1"], "a seed is a whole number"),
    ([*POWER, "--seed", "-1"], "a seed is a whole number"),
    ([*POWER, "--trials", "-1"], "trials >= 1"),
    ([*POWER, "--n", "0"], "n >= 2"),
    ([*POWER, "--k", "-3"], "k >= 1"),
]


@pytest.mark.parametrize(("arguments", "rule"), REFUSED)
def test_nonsense_is_refused_in_one_line(arguments, rule, capsys):
    assert rule in refused(capsys, *arguments)


@pytest.mark.parametrize("workers", ["0", "-1", "two", "1.5", "99999999"])
def test_a_number_of_workers_that_is_none_is_refused(workers, capsys, monkeypatch):
    monkeypatch.setenv("NPTLAB_WORKERS", workers)
    assert main([*POWER, "--engine", "local"]) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert workers in line
    assert "NPTLAB_WORKERS" in line


@pytest.mark.parametrize("limit", [-1, 0, 1.5, "many", True])
def test_a_bound_is_a_positive_number_of_bytes(limit, tmp_path):
    with pytest.raises(ValueError, match="positive number of bytes; got"):
        Store(tmp_path, limit=limit)
    with pytest.raises(ValueError, match="positive number of bytes; got"):
        Store(tmp_path).limit = limit


@pytest.mark.parametrize("content", [b"-5", b"0", b"many", b"\xff\xfe", b""])
def test_a_file_with_a_bound_that_is_none_is_passed_over_and_said(content, tmp_path):
    (tmp_path / "limit").write_bytes(content)
    store = Store(tmp_path, limit=1000)
    assert store.limit == 1000
    (notice,) = store.notices
    assert "must hold a positive number" in notice
