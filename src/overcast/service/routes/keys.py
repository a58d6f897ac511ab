"""Keys: make, list, revoke."""

from __future__ import annotations

from overcast.service import answers as a
from overcast.service import messages as m
from overcast.service.engine import Turn
from overcast.service.errors import Refusal
from overcast.service.http import Call, Operation, Reply
from overcast.service.keys import Key, new_key


async def create_key(call: Call) -> Reply:
    check_whole(call)
    asked: m.NewKey = call.body
    secret = call.service.engine.secret

    def work(turn: Turn) -> a.KeyMade:
        if asked.expires is not None and asked.expires <= turn.now:
            raise Refusal(422, f"key: expires must be in the future, got {asked.expires}", "expires")
        scopes, bandits = tuple(dict.fromkeys(asked.scopes)), tuple(dict.fromkeys(asked.bandits))
        key, shown = new_key(secret, asked.name, scopes, bandits, turn.now, asked.expires)
        turn.append("", "key", {"event": "key", "key": key})
        return a.KeyMade(*_values(key), key=shown)

    return Reply(201, await call.ask(work))


async def list_keys(call: Call) -> Reply:
    check_whole(call)
    return Reply(
        200,
        await call.ask(
            lambda turn: a.KeyList([a.KeyInfo(*_values(key)) for key in turn.state.keys.values()]),
            writes=False,
        ),
    )


async def revoke_key(call: Call) -> Reply:
    check_whole(call)

    def work(turn: Turn) -> a.Empty:
        id_, keys = call.params["id"], turn.state.keys
        if id_ not in keys:
            raise Refusal(404, f"key: must be one that exists, got {id_[:80]!r}")
        others = [key for key in keys.values() if key.id != id_]
        if not any("admin" in key.scopes and key.whole and key.expires is None for key in others):
            raise Refusal(409, "key: must not be the last one with the scope admin for all bandits; make another first")
        turn.append("", "revoke", {"event": "revoke", "id": id_})
        return a.Empty()

    return Reply(200, await call.ask(work))


def check_whole(call: Call) -> None:
    """Raise a refusal unless the key sees all bandits: a narrow one must not make itself a wider one."""
    if call.key is not None and not call.key.whole:
        raise Refusal(403, "key: must see all bandits for this, got one that sees some")


def _values(key: Key) -> tuple[str, str, list[str], list[str], float, float | None]:
    """Return the fields of `a.KeyInfo`."""
    return key.id, key.name, list(key.scopes), list(key.bandits), key.created, key.expires


KEYS = "/v1/keys"
OPERATIONS = [
    Operation("POST", KEYS, create_key, "Make a key, which is shown once", "admin", {201: a.KeyMade}, m.NewKey),
    Operation("GET", KEYS, list_keys, "List the keys", "admin", {200: a.KeyList}),
    Operation("DELETE", f"{KEYS}/{{id}}", revoke_key, "Revoke a key at once", "admin", {200: a.Empty}, None, (409,)),
]
