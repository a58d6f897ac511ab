"""Keys as values."""

from __future__ import annotations

import pytest

from overcast.service.keys import Key, find, new_key

SECRET = bytes(range(32))


def make(**options: object) -> tuple[Key, str]:
    given: dict[str, object] = {"scopes": ("read",), "bandits": ("*",), "now": 10.0, "expires": None} | options
    return new_key(SECRET, "test", **given)  # type: ignore[arg-type]


def test_a_key_is_found_by_itself_alone() -> None:
    key, shown = make()
    keys = {key.id: key}
    assert find(keys, SECRET, shown, 11.0) == key
    for wrong in ("", shown[:-1], f"{shown}x", shown.upper(), f" {shown}", f"{shown}\n", shown.replace("oc_", "oc-")):
        assert find(keys, SECRET, wrong, 11.0) is None
    assert find(keys, bytes(32), shown, 11.0) is None
    assert find({}, SECRET, shown, 11.0) is None


def test_keys_are_random_and_not_stored() -> None:
    made = [make() for _ in range(50)]
    assert len({shown for _, shown in made}) == len({key.digest for key, _ in made}) == 50
    key, shown = made[0]
    secret = shown.split("_", 2)[2]
    assert len(secret) == 43  # 256 bits
    assert secret not in repr(key)


def test_expiry() -> None:
    key, shown = make(expires=20.0)
    assert find({key.id: key}, SECRET, shown, 19.9) == key
    assert find({key.id: key}, SECRET, shown, 20.0) is None


@pytest.mark.parametrize(
    ("patterns", "seen", "hidden"),
    [(("*",), ["a", "shop-1"], []), (("shop-*", "farm"), ["shop-", "farm"], ["farms", "Shop-1", "xshop-1"])],
)
def test_patterns(patterns: tuple[str, ...], seen: list[str], hidden: list[str]) -> None:
    key, _ = make(bandits=patterns)
    assert all(map(key.sees, seen))
    assert not any(map(key.sees, hidden))


def test_scopes() -> None:
    assert make()[0].may("read")
    assert not make()[0].may("decide")
    assert all(make(scopes=("admin",))[0].may(scope) for scope in ("admin", "decide", "outcome", "read"))
