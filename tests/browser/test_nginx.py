"""Behind nginx below a path, with the lines of docs/operating.md."""

import json
import os
import re
import shutil
import subprocess
import urllib.error
import urllib.request
from contextlib import contextmanager

import numpy as np
import pytest

from tests.browser.driving import LONG, serving, settled, until
from tests.conftest import ROOT
from tests.server import free_port, stop

NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
CONFIGURATION = """{user}
daemon off;
pid {folder}/pid;
events {{}}
http {{
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    access_log off;
    server {{
        listen 127.0.0.1:{port};
        {location}
    }}
}}
"""


@contextmanager
def nginx(folder, behind):
    """A proxy before a server's port: its own."""
    text = (ROOT / "docs" / "operating.md").read_text("utf-8")
    (location,) = re.findall(r"```nginx\n(.*?)```", text, re.DOTALL)
    port = free_port()
    user = "user root;" if os.name == "posix" and os.getuid() == 0 else ""
    location = location.replace("location / ", "location /lab/ ").replace(":8501", f":{behind}")
    file = folder / "nginx.conf"
    file.write_text(CONFIGURATION.format(user=user, folder=folder, port=port, location=location))
    process = subprocess.Popen([NGINX, "-p", folder, "-c", file, "-e", folder / "errors"])
    try:
        yield port
    finally:
        stop(process)


def asked(url, **headers):
    """Status and body of an answer."""
    request = urllib.request.Request(url, headers=headers)
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request) as answer:
            return answer.status, answer.read()
    except (urllib.error.HTTPError, ConnectionError) as error:
        return getattr(error, "code", 0), b""
    except urllib.error.URLError:
        return 0, b""


@pytest.mark.skipif(NGINX is None, reason="no nginx: install Debian's nginx-light")
def test_pages_work_below_a_path_behind_nginx(window, tmp_path, monkeypatch):
    monkeypatch.setenv("STREAMLIT_SERVER_BASE_URL_PATH", "lab")
    rng = np.random.default_rng(0)
    theta = rng.standard_normal((400, 2))
    q = theta[:, None] + rng.standard_normal((400, 400, 2))
    np.savez(tmp_path / "table.npz", theta=theta, x=theta, theta_q=q)  # 2.6 MB
    behind = free_port()
    with serving(tmp_path / "cache", behind, "serial"), nginx(tmp_path, behind) as port:
        place = f"http://127.0.0.1:{port}/lab"
        assert until(lambda: asked(f"{place}/api/ready")[0] == 200)
        assert json.loads(asked(f"{place}/api/ready")[1]) == {"ready": True}
        assert asked(f"{place}/_stcore/metrics")[0] == 404
        assert asked(f"{place}/", Host="evil.example")[0] == 421
        page = window(place)
        page.goto(f"{place}/models")
        settled(page)
        page.get_by_role("link", name="My posterior").click()
        page.wait_for_url(f"{place}/diagnose*")
        settled(page)
        page.locator("input[type=file]").first.set_input_files(tmp_path / "table.npz")
        page.get_by_text("Choose the order").wait_for(timeout=LONG)  # it was read: N = K
        (cookie,) = [one for one in page.context.cookies() if one["name"] == "nptlab"]
        assert cookie["httpOnly"]
        page.close()  # it may still be loading when its server ends
