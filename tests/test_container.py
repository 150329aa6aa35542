"""The container: what it holds, who it runs as, and how it says that it is well."""

import http.server
import json
import re
import subprocess
import sys
import threading
from fnmatch import fnmatch

import pytest

from tests.conftest import ROOT
from tests.server import free_port

DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
STEPS = [
    step.split(maxsplit=1)
    for step in re.sub(
        r"\\\n\s*", "", re.sub(r"^#.*\n", "", DOCKERFILE, flags=re.MULTILINE)
    ).splitlines()
    if step
]


def arguments(name):
    """What each instruction of a name says, in order."""
    return [rest for step, rest in STEPS if step == name]


def healthy(port):
    """How the health check ends on a port."""
    (check,) = arguments("HEALTHCHECK")
    _, code, command = json.loads(check[check.index("[") :])
    assert code == "-c"
    command = command.replace("8501", str(port))
    return subprocess.run([sys.executable, "-c", command], capture_output=True, check=False)


@pytest.mark.parametrize("status", [200, 404, 503])
def test_it_is_healthy_while_the_server_is_ready(status):
    asked = []

    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_response(status)
            self.end_headers()

        def log_message(self, *args):
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Answer) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        ended = healthy(server.server_port)
        thread.join()
    assert (ended.returncode == 0) == (status == 200)
    assert asked == ["/api/ready"]


def test_it_is_not_healthy_where_nobody_listens():
    assert healthy(free_port()).returncode != 0


def test_it_holds_all_that_runs_and_nothing_else():
    copied = {source for step in arguments("COPY") for source in step.split()[:-1]}
    assert [name for name in copied if not (ROOT / name).exists()] == []
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    kept = {line[1:] for line in lines if line.startswith("!")}
    assert "*" in lines
    assert kept == copied
    assert any(fnmatch("pages/ui/__pycache__", line) for line in lines)
    listed = subprocess.run(
        ["git", "ls-files", "app.py", "pages", "validation_core", ".streamlit"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    assert {name.split("/")[0] for name in listed} <= copied


def test_it_runs_as_a_user_who_owns_the_volume_alone():
    (user,) = arguments("USER")
    assert user.split(":")[0].isdigit()
    assert int(user.split(":")[0]) > 0
    after = [step for step, _ in STEPS][[step for step, _ in STEPS].index("USER") :]
    assert {"RUN", "COPY", "ADD"}.isdisjoint(after), "all of it belongs to root"
    assert not any("chown" in rest for rest in arguments("COPY"))
    assert arguments("VOLUME") == ["/data"]
    assert "NPTLAB_CACHE=/data" in arguments("ENV")[0]


def test_it_installs_what_the_lock_holds_and_checks_its_hashes():
    (install,) = [step for step in arguments("RUN") if "pip install" in step]
    assert "--require-hashes" in install
    assert "-r requirements-cpu.lock" in install


def test_its_base_is_named_by_its_content():
    (base,) = arguments("FROM")
    assert re.fullmatch(r"python:3\.11-slim@sha256:[0-9a-f]{64}", base)


def locked(name):
    """The entries of a lock, by package: the line that names it and its hashes."""
    text = (ROOT / name).read_text("utf-8")
    entries = re.findall(r"^[a-z].*(?:\n    --hash=.*)*", text, re.MULTILINE)
    return [(re.split(r"==| @ ", entry)[0], entry) for entry in entries]


def test_it_holds_what_was_tested_but_for_a_graphics_card():
    """2 GB at most: the libraries of NVIDIA alone are 3 GB."""
    whole, cpu = locked("requirements.lock"), locked("requirements-cpu.lock")
    left = [name for name, _ in whole if not re.match(r"nvidia-|cuda-|triton$", name)]
    assert len(whole) - len(left) >= 15
    assert [name for name, _ in cpu if name != "torch"] == [n for n in left if n != "torch"]
    assert {entry for name, entry in cpu if name != "torch"} <= {entry for _, entry in whole}
    (version,) = [re.search(r"==([0-9.]+)", e)[1] for name, e in whole if name == "torch"]
    machines = {"x86_64", "aarch64"}
    for name, entry in cpu:
        if name == "torch":
            assert f"torch-{version}%2Bcpu-cp311-" in entry
            (machine,) = re.findall(r"platform_machine == '(\w+)'", entry)
            assert f"_{machine}.whl" in entry
            assert entry.count("--hash=sha256:") == 1
            machines.remove(machine)
    assert not machines
