"""Create, decide, learn and read with a client that openapi-python-client generated, and nothing of overcast.

`python use.py URL KEY`, run in the folder with the package `generated`.
"""

from __future__ import annotations

import sys
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any

TYPE = "application/octet-stream"


def operation(tag: str, name: str) -> Any:
    """Return the module of an operation of the generated client."""
    return import_module(f"generated.api.{tag}.{name}")


def main(url: str, key: str) -> None:
    sys.path.insert(0, str(Path.cwd()))
    models, client = (
        import_module("generated.models"),
        import_module("generated").AuthenticatedClient(base_url=url, token=key),
    )
    decide = operation("decisions", "decide").sync
    assert operation("health", "get_readiness").sync(client=client).status == "ready"
    config = {"name": "pump", "actions": {"off": [0.0], "on": [1.0]}, "features": {"type": "Polynomial", "degree": 2}}
    assert (
        operation("bandits", "create_bandit").sync(client=client, body=models.NewBandit.from_dict(config)).name
        == "pump"
    )

    asked = models.OneOrMany.from_dict({"belief": {"type": "Gaussian", "mean": [18.0], "cov": [[4.0]]}})
    first = decide("pump", client=client, body=asked, idempotency_key="monday")
    assert (first.id, first.action in ("off", "on")) == ("monday", True)
    assert decide("pump", client=client, body=asked, idempotency_key="monday") == first
    taken = operation("outcomes", "report_outcome").sync(
        "pump", "monday", client=client, body=models.NewOutcome(reward=2.5, context=[17.0])
    )
    assert (taken.final, taken.total) == (True, 2.5)

    items = [models.NewDecision(belief=[20.0], id="a"), models.NewDecision(belief=[[19.0], [23.0]], id="b")]
    many = decide("pump", client=client, body=models.OneOrMany(decisions=items)).decisions
    assert [(one.id, one.status) for one in many] == [("a", 201), ("b", 201)]
    rewards = [models.NewOutcomeItem(id="a", reward=1.0), models.NewOutcomeItem(id="nobody", reward=1.0)]
    verdicts = (
        operation("outcomes", "report_outcomes")
        .sync("pump", client=client, body=models.NewOutcomes(outcomes=rewards))
        .outcomes
    )
    assert [one.status for one in verdicts] == [200, 404]
    assert verdicts[1].error.code == "not_found"

    assert (
        len(operation("bandits", "estimate").sync("pump", client=client, body=models.Query(belief=[21.0])).actions) == 2
    )
    assert operation("decisions", "get_decision").sync("pump", "b", client=client).status == "open"
    assert [one.decisions for one in operation("bandits", "list_bandits").sync(client=client).bandits] == [3]

    log = operation("log", "export_log").sync_detailed("pump", client=client).content
    copied = operation("log", "import_log").sync(
        "copy", client=client, body=import_module("generated.types").File(payload=BytesIO(log), mime_type=TYPE)
    )
    assert (copied.decisions, copied.outcomes) == (3, 2)
    assert (
        operation("bandits", "get_bandit").sync("copy", client=client).learnt
        == operation("bandits", "get_bandit").sync("pump", client=client).learnt
    )
    print("The generated client created, decided, learnt and read.")


if __name__ == "__main__":
    main(*sys.argv[1:])
