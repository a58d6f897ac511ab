"""What all pages have in common."""

from __future__ import annotations

from html.parser import HTMLParser

from dashboard_support import EVIL, Visitor
from service_support import FARM, GAUSSIAN, Api


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
