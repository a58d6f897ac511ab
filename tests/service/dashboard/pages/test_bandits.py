"""The list of all bandits."""

from __future__ import annotations

import html
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from browser_support import site
from dashboard_support import Visitor, words
from required import lacking
from service_support import FARM, Api, served


def test_an_empty_service_shows_how_to_begin(tmp_path: Path) -> None:
    with served(tmp_path) as api:
        visitor = Visitor(api).sign_in()
        page = visitor.get("/", host="my.host:1234")
        assert "No bandit yet" in page.body
        assert "curl http://my.host:1234/v1/bandits" in words(page)
        assert "oc.Client" in words(page)


def _run(shell: str | None, command: list[str]) -> None:
    """Run a command, or lines of the shell that call curl, in which an error of the service counts as one."""
    if shell is not None:
        if shutil.which("curl") is None:
            lacking("curl", "needs curl")
        command = ["bash", "-ec", shell.replace("curl ", "curl --silent --fail ")]
    subprocess.run(command, check=True, capture_output=True, timeout=60)


def test_the_first_commands_of_the_documents_run_as_they_stand(tmp_path: Path) -> None:
    text = (Path(__file__).parents[4] / "docs" / "service" / "index.md").read_text(encoding="utf-8")
    blocks = [block for block in re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL) if "curl" in block]
    assert len(blocks) == 2
    with site(tmp_path) as real:
        lines = "".join(blocks).replace("http://127.0.0.1:8765", real.url)
        _run(lines.replace("OVERCAST_KEY=...", f"OVERCAST_KEY={real.key}"), [])
        assert real.ask("GET", "/v1/bandits/irrigation")["outcomes"] == 1


@pytest.mark.parametrize("block", ["curl", "python"])
def test_what_an_empty_service_shows_runs_as_it_stands(block: str, tmp_path: Path) -> None:
    with served(tmp_path) as api:
        page = Visitor(api).sign_in().get("/", host="HOST")
    found = re.search(rf'<pre id="{block}"[^>]*><code>(.*?)</code>', page.body, re.DOTALL)
    assert found is not None
    folder = tmp_path / "other"
    folder.mkdir()
    with site(folder) as real:
        text = html.unescape(found[1]).replace("YOUR_KEY", real.key).replace("http://HOST", real.url)
        _run(text if block == "curl" else None, [sys.executable, "-c", text])
        info = real.ask("GET", "/v1/bandits/irrigation")
        assert (info["actions"], info["outcomes"]) == (4, 1 if block == "python" else 0)


def test_the_list(api: Api, visitor: Visitor) -> None:
    for i in range(3):
        api.outcome(api.decide()["id"], reward=float(i))
    page = visitor.get("/")
    assert '<a class="cover" href="/bandits/farm">' in page.body
    assert 'class="spark"' in page.body
    assert "3 outcomes" not in page.body
    assert re.search(r"decisions 3 outcomes 3 pending 0", words(page))
    at = re.search(r"/live\?at=(\d+)", page.body)
    assert at is not None
    assert visitor.get(f"/live?at={at[1]}").status == 204
    api.decide()
    news = visitor.get(f"/live?at={at[1]}")
    assert news.status == 200
    assert "<html" not in news.body
    assert "pending 1" in words(news)


def test_a_narrow_key_sees_its_bandits_alone(api: Api) -> None:
    api.post("/v1/bandits", FARM | {"name": "shop-1"})
    visitor = Visitor(api).sign_in(api.new_key("read", bandits=["shop-*"]))
    page = visitor.get("/")
    assert ("shop-1" in page.body, "farm" in page.body) == (True, False)
    id_ = api.decide()["id"]
    for path in ("", "/live", "/ask", f"/decisions/{id_}"):
        hidden, absent = visitor.get(f"/bandits/farm{path}"), visitor.get(f"/bandits/harm{path}")
        assert hidden.status == absent.status == 404
        assert words(hidden).replace("farm", "harm") == words(absent)
