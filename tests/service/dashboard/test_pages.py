"""Pages show what is there, and forms do what the API does."""

from __future__ import annotations

import html
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from importlib import resources
from pathlib import Path

import pytest

from browser_support import site
from dashboard_support import Visitor
from overcast.service.dashboard.pages import KEPT
from required import lacking
from service_support import FARM, GAUSSIAN, Answer, Api, served

EVIL = "<script>alert('x')</script>\"><img src=x onerror=alert(1)>"


class Elements(HTMLParser):
    """Looks for elements and attributes that would run something."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.strange: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.strange += [name for name in given if name.startswith("on") or name == "style"]
        if tag in ("script", "img") and not (given.get("src") or "").startswith("/static/"):
            self.strange.append(tag)
        if not (given.get("href") or "/").startswith(("/", "#")):
            self.strange.append(given["href"] or "")


@pytest.fixture
def visitor(api: Api) -> Visitor:
    return Visitor(api).sign_in()


def words(answer: Answer) -> str:
    """Return what a person reads."""
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", answer.body)))


def test_signing_in(api: Api) -> None:
    visitor = Visitor(api)
    page = visitor.get("/sign-in?next=/bandits/farm")
    assert 'value="/bandits/farm"' in page.body
    wrong = visitor.post("/sign-in", {"key": "oc_nonsense"})
    assert wrong.status == 401
    assert "not valid" in words(wrong)
    assert "oc_nonsense" not in wrong.body
    narrow = visitor.post("/sign-in", {"key": api.new_key("decide")})
    assert narrow.status == 403
    assert "lacks the scope read" in words(narrow)
    done = visitor.post("/sign-in", {"key": api.key, "next": "/bandits/farm"})
    assert (done.status, done.headers["location"]) == (303, "/bandits/farm")
    assert visitor.get("/sign-in").headers["location"] == "/"


@pytest.mark.parametrize("wanted", ["https://evil.example", "//evil.example", "/\\evil.example", "/bandits//evil", "x"])
def test_nobody_is_led_to_another_site(api: Api, wanted: str) -> None:
    visitor = Visitor(api)
    visitor.get("/sign-in")
    assert visitor.post("/sign-in", {"key": api.key, "next": wanted}).headers["location"] == "/"


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
    text = (Path(__file__).parents[3] / "docs" / "service" / "index.md").read_text(encoding="utf-8")
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


def test_a_bandit_and_its_charts(api: Api, visitor: Visitor) -> None:
    assert "No decision yet" in visitor.get("/bandits/farm").body
    for i in range(12):
        api.outcome(api.decide()["id"], reward=float(i), context=[20.0 + i, 1.0])
    open_ = api.decide()["id"]
    page = visitor.get("/bandits/farm?dim=1")
    for title in ("Reward over time", "What was chosen", "What each action would bring", "What is left to learn"):
        assert title in page.body
    assert page.body.count('<svg class="chart"') == 7
    assert "forecast of c2" in words(page)
    assert f"/bandits/farm/decisions/{open_}" in page.body
    assert "UCB on LinearModel" in words(page)
    at = re.search(r"live\?at=(\d+)", page.body)
    assert at is not None
    assert visitor.get(f"/bandits/farm/live?at={at[1]}&dim=1").status == 204
    api.outcome(open_, reward=99.0)
    news = visitor.get(f"/bandits/farm/live?at={at[1]}&dim=1")
    assert (news.status, "<html" in news.body) == (200, False)
    assert "What was chosen" in news.body
    assert "99" in words(visitor.get("/bandits/farm"))
    assert visitor.get("/bandits/farm?dim=99&x=é").status == 200


def test_a_shadow_is_compared(api: Api, visitor: Visitor) -> None:
    assert api.ask("PUT", "/v1/bandits/farm/shadow", {"policy": "Greedy"}).status == 200
    api.decide()
    page = visitor.get("/bandits/farm")
    assert "Shadow against live" in page.body
    assert "What Greedy expects to gain" in words(page)
    assert re.search(r"Both agree on \d+% of 1 decisions", words(page))
    assert page.body.count('<svg class="chart"') == 4
    assert "shadow would have taken" in words(visitor.get(f"/bandits/farm/decisions/{api.decide()['id']}"))


def test_whoever_looks_on_shares_the_charts(api: Api, visitor: Visitor) -> None:
    api.decide()
    visitor.get("/bandits/farm")
    api.decide()
    assert "decisions 1 " in words(visitor.get("/bandits/farm/live"))  # it is not older than a moment
    assert "decisions 2 " in words(visitor.get("/bandits/farm"))
    for i in range(2 * KEPT):
        visitor.get(f"/bandits/farm?dim={i}")
    for name in ("farm", "none"):
        other = Visitor(api).sign_in(api.new_key("read", bandits=["shop-*"]))
        assert other.get(f"/bandits/{name}/live").status == 404  # what is kept is for those who may see it


def test_pages_are_the_same_after_a_restart(tmp_path: Path) -> None:
    with served(tmp_path) as api:
        api.post("/v1/bandits", FARM)
        key = api.new_key("admin")
        for i in range(12):
            api.outcome(api.decide()["id"], reward=float(i), context=[20.0, 1.0])
        before = Visitor(api).sign_in(key).get("/bandits/farm").body
    with served(tmp_path) as api:
        after = Visitor(api).sign_in(key).get("/bandits/farm").body
    charts = [re.findall(r'<svg class="chart".*?</svg>', body, re.DOTALL) for body in (before, after)]
    assert charts[0] == charts[1]
    assert len(charts[0]) == 7


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_the_export_is_that_of_the_api(api: Api, visitor: Visitor, kind: str) -> None:
    api.outcome(api.decide()["id"], reward=1.0)
    assert f"/bandits/farm/export?format={kind}" in visitor.get("/bandits/farm").body
    found, right = visitor.get(f"/bandits/farm/export?format={kind}"), api.get(f"/v1/bandits/farm/log?format={kind}")
    assert (found.status, found.body) == (200, right.body)
    assert found.headers["content-disposition"] == f'attachment; filename="farm.{kind}"'
    assert visitor.get("/bandits/farm/export?format=exe").status == 422
    assert visitor.get("/bandits/none/export").status == 404
    assert Visitor(api).get("/bandits/farm/export").status == 303


def test_deciding_by_hand(api: Api, visitor: Visitor) -> None:
    visitor.get("/bandits/farm/ask")
    made = visitor.post("/bandits/farm/ask", {"mean": "20, 1", "sd": "2, 0.3"})
    assert made.status == 303
    path = made.headers["location"]
    page = visitor.get(path)
    assert re.search(r"(early|late|never) open", words(page))
    assert "What came of it?" in page.body
    wrong = visitor.post(f"{path}/outcome", {"reward": "much"})
    assert (wrong.status, "must be numbers" in words(wrong)) == (422, True)
    assert visitor.post(f"{path}/outcome", {"reward": "0.5", "part": EVIL}).status == 422
    assert visitor.post(f"{path}/outcome", {"reward": "0.5", "part": "first"}).status == 303
    assert "first: 0.5" in words(visitor.get(path))
    assert visitor.post(f"{path}/outcome", {"reward": "1.0", "context": "21, 0.9"}).status == 303
    page = visitor.get(path)
    assert "outcome: 1.5" in words(page)
    assert "What came of it?" not in page.body
    assert "taken for certain" in words(page)
    again = visitor.post(f"{path}/outcome", {"reward": "7"})
    assert (again.status, "has its outcome" in words(again)) == (409, True)
    assert 'value="20, 1"' in visitor.get("/bandits/farm/ask").body  # the last one is what to start from


def test_only_some_actions(api: Api, visitor: Visitor) -> None:
    made = visitor.post("/bandits/farm/ask", {"mean": "20, 1", "some": "on", "available": ["never"]})
    assert "never open" in words(visitor.get(made.headers["location"]))
    none = visitor.post("/bandits/farm/ask", {"mean": "20, 1", "some": "on"})
    assert none.status == 422
    wrong = visitor.post("/bandits/farm/ask", {"belief": '{"type": "Nonsense"}'})
    assert wrong.status == 422
    assert "Nonsense" in words(wrong)


def test_cancelling(api: Api, visitor: Visitor) -> None:
    path = f"/bandits/farm/decisions/{api.decide()['id']}"
    assert visitor.post(f"{path}/cancel").status == 303
    assert "cancelled" in words(visitor.get(path))


def test_creating(api: Api, visitor: Visitor) -> None:
    fields = {"name": "shop", "actions": "a: 1, 0\nb: 0, 1", "features": "Bilinear", "policy": "Thompson"}
    assert visitor.post("/new", {**fields}).headers["location"] == "/bandits/shop"
    assert visitor.get("/bandits/shop").status == 200
    for wrong, word in (({"name": "a b"}, "name must match"), ({"actions": ""}, "got none"), ({}, "again")):
        answer = visitor.post("/new", {**fields, **wrong})
        assert answer.status in (409, 422)
        assert word in words(answer)
        assert "b: 0, 1" in answer.body or wrong.get("actions") == ""  # what was typed stays
    whole = '{"actions": ["a", "b"], "kernel": {"type": "RBF", "lengthscale": 1.0}, "ridge": 1.0}'
    assert visitor.post("/new", {"name": "kern", "config": whole}).status == 303
    for features in ("Quadratic", "Polynomial", "Linear"):
        made = visitor.post("/new", {**fields, "name": features, "features": features})
        assert made.status == 303, words(made)
    assert visitor.post("/new", {"name": "own", "actions": "a\nb", "features": "Disjoint"}).status == 303


def test_keys(api: Api, visitor: Visitor) -> None:
    made = visitor.post("/keys", {"name": "shop", "scope": ["read", "decide"], "bandits": "shop-*", "days": "2"})
    assert made.status == 201
    key = re.search(r"oc_[0-9a-f]{16}_[\w-]{43}", made.body)
    assert key is not None
    assert api.get("/v1/bandits", key=key[0]).body == {"bandits": []}
    page = visitor.get("/keys")
    assert key[0] not in page.body  # shown once
    assert "shop-*" in words(page)
    assert visitor.post("/keys", {"name": "x"}).status == 422
    assert visitor.post(f"/keys/{key[0].split('_')[1]}/revoke").status == 303
    assert api.get("/v1/bandits", key=key[0]).status == 401
    last = visitor.post(f"/keys/{api.key.split('_')[1]}/revoke")
    assert (last.status, "last one" in words(last)) == (409, True)


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


def test_no_name_becomes_markup(api: Api, visitor: Visitor) -> None:
    actions = {EVIL: [1.0, 0.0], "'; DROP TABLE log; --": [0.0, 1.0]}
    assert api.post("/v1/bandits", FARM | {"name": "evil", "actions": actions}).status == 201
    belief = {**GAUSSIAN, "names": [EVIL, "<b>"]}
    for i in range(12):
        decided = api.post("/v1/bandits/evil/decisions", {"belief": belief})
        assert decided.status == 201, decided.body
        path = f"/v1/bandits/evil/decisions/{decided.body['id']}/outcome"
        assert api.post(path, {"reward": float(i), "context": [20.0, 1.0]}).status == 200
    decided = api.post("/v1/bandits/evil/decisions", {"belief": belief, "available": [EVIL]})
    api.new_key("read", name=EVIL)
    named = Visitor(api).sign_in(api.new_key("admin", name=EVIL))
    paths = [
        "/",
        "/bandits/evil",
        "/bandits/evil/live",
        "/bandits/evil/ask",
        f"/bandits/evil/decisions/{decided.body['id']}",
        "/keys",
        "/new",
    ]
    answers = [who.get(path) for who in (visitor, named) for path in paths]
    answers += [
        visitor.post("/new", {"name": EVIL, "actions": EVIL, "config": EVIL}),
        visitor.post("/bandits/evil/ask", {"mean": EVIL, "sd": EVIL, "belief": EVIL}),
        visitor.post(f"/bandits/evil/decisions/{decided.body['id']}/outcome", {"reward": EVIL, "part": EVIL}),
        visitor.post("/keys", {"name": EVIL, "bandits": EVIL}),
        visitor.post("/sign-in", {"key": EVIL, "next": EVIL}),
        visitor.get("/bandits/%3Cscript%3Ealert('x')%3C%2Fscript%3E"),
        visitor.get("/sign-in?next=%22%3E%3Cscript%3E"),
    ]
    for answer in answers:
        assert answer.status != 500
        assert "<script>alert" not in str(answer.body)
        assert "<img src=x" not in str(answer.body)
        assert "<b>" not in str(answer.body)
        assert Elements(str(answer.body)).strange == []


def test_static_files(api: Api) -> None:
    css = api.get("/static/dashboard.css", key="")
    assert (css.status, css.headers["content-type"]) == (200, "text/css; charset=utf-8")
    for path in ("none.css", "..%2Fpages.py", "%2e%2e%2fpages.py", ""):
        assert api.get(f"/static/{path}", key="").status == 404


def test_nothing_comes_from_elsewhere() -> None:
    folder = resources.files("overcast.service.dashboard")
    own = [one for part in ("templates", "static") for one in (folder / part).iterdir()]
    assert len(own) > 12
    for one in own:
        if one.name.startswith("htmx"):
            continue
        text = one.read_text().replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?://|url\(|@import", text), one.name


def test_a_choice_by_chance_says_how_likely_it_was(api: Api) -> None:
    visitor = Visitor(api).sign_in()
    chance = {}
    for name, share in (("curious", 1.0), ("sure", 0.0)):
        assert api.post("/v1/bandits", FARM | {"name": name, "explore": share}).status == 201
        chance[name] = api.post(f"/v1/bandits/{name}/decisions", {"belief": GAUSSIAN}).body["probability"]
    assert chance["curious"] < chance["sure"] == 1.0
    assert f"was chosen, with probability {chance['curious']:.2g}." in words(visitor.get("/bandits/curious"))
    assert "▸ was chosen." in words(visitor.get("/bandits/sure"))


def test_erased_decisions_are_not_shown(api: Api, visitor: Visitor) -> None:
    api.outcome(api.decide(id="somebody")["id"], reward=1.0)
    assert "somebody" in visitor.get("/bandits/farm").body
    assert api.post("/v1/bandits/farm/erase", {"before": 3e9}).body["entries"] > 0
    assert "somebody" not in visitor.get("/bandits/farm").body
