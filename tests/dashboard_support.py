"""A browser without scripts: it keeps a cookie, and sends the token of the page that it last saw."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from urllib.parse import urlencode

from service_support import Answer, Api

EVIL = "<script>alert('x')</script>\"><img src=x onerror=alert(1)>"
FORM = {"content-type": "application/x-www-form-urlencoded", "sec-fetch-site": "same-origin"}


class Visitor:
    """Somebody who looks at the dashboard."""

    def __init__(self, api: Api, scheme: str = "http") -> None:
        self.api, self.scheme = api, scheme
        self.cookies: dict[str, str] = {}
        #: cookies that another application on the same host has set
        self.foreign = ""
        self.token = ""

    def get(self, path: str, **headers: str) -> Answer:
        return self._seen(self.api.ask("GET", path, key="", headers=self._head() | headers, scheme=self.scheme))

    def post(self, path: str, fields: Mapping[str, str | list[str]] | None = None, **headers: str) -> Answer:
        """Send a form with the token of the last page."""
        body = urlencode({"token": self.token, **(fields or {})}, doseq=True).encode()
        head = self._head() | FORM | headers
        return self._seen(self.api.ask("POST", path, body, key="", headers=head, scheme=self.scheme))

    def sign_in(self, key: str | None = None) -> Visitor:
        self.get("/sign-in")
        answer = self.post("/sign-in", {"key": self.api.key if key is None else key})
        assert (answer.status, answer.headers["location"]) == (303, "/"), answer.body
        assert self.get("/").status == 200
        return self

    def _head(self) -> dict[str, str]:
        sent = [self.foreign] * bool(self.foreign) + [f"{name}={value}" for name, value in self.cookies.items()]
        return {"cookie": "; ".join(sent)} if sent else {}

    def _seen(self, answer: Answer) -> Answer:
        if "set-cookie" in answer.headers:
            name, _, value = answer.headers["set-cookie"].partition(";")[0].partition("=")
            self.cookies = {name: value} if value else {}
        if found := re.search(r'name="token" value="([^"]+)"', str(answer.body)):
            self.token = html.unescape(found[1])
        return answer


def words(answer: Answer) -> str:
    """Return what a person reads."""
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", answer.body)))
