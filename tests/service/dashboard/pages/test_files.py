"""Static files."""

from __future__ import annotations

import re
from importlib import resources

from service_support import Api


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
