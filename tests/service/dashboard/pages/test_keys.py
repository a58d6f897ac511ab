"""Keys: making and revoking them."""

from __future__ import annotations

import re

from dashboard_support import Visitor, words
from service_support import Api


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
