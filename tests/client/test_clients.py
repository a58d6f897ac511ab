"""Clients against a service that listens on a port."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
import uvicorn

import overcast as oc
from service_support import FARM, Api, check_replay, served
from support import refused

FORECAST = oc.Gaussian([20.0, 1.0], [4.0, 0.1])
MADE_OF = oc.LinearModel(oc.features.Bilinear(), ridge=1.0), oc.UCB(2.0)


@pytest.fixture(scope="module")
def served_api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Api, str]]:
    with served(tmp_path_factory.mktemp("client")) as api:
        server = uvicorn.Server(uvicorn.Config(api.app, port=0, lifespan="off", log_config=None))
        thread = threading.Thread(target=server.run)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        yield api, f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
        server.should_exit = True
        thread.join()


def test_a_remote_bandit_is_the_librarys(served_api: tuple[Api, str]) -> None:
    api, url = served_api
    with oc.Client(url, api.key) as client:
        remote = client.create("farm", FARM["actions"], *MADE_OF)
        local = oc.Bandit(FARM["actions"], *MADE_OF)
        for i in range(6):
            here, there = local.decide(FORECAST), remote.decide(FORECAST)
            numbers = ("action", "mean", "width", "score", "probability")
            assert [getattr(here, name) for name in numbers] == [getattr(there, name) for name in numbers]
            context = [None, [18.0, 1.2], oc.Gaussian([18.0, 1.2], [0.1, 0.0])][i % 3]
            local.learn(here, 0.5 * i, context)
            remote.learn(there if i % 2 else there.id, 0.5 * i, context)
        for one, other in zip(local.estimate(FORECAST), remote.estimate(FORECAST), strict=True):
            assert np.array_equal(one, other)
        assert repr(client) == f"Client('{url}')"
        gone = remote.decide(FORECAST, available=["late"], id="gone")
        assert (gone.id, gone.action) == ("gone", "late")
        assert remote.decide(FORECAST, available=["late"], id="gone") == gone
        remote.forget(gone)
        with pytest.raises(oc.ServiceError, match=r"^Client: 409 conflict: .*was cancelled$"):
            remote.learn(gone, 1.0)
        part = remote.decide(FORECAST)
        remote.learn(part, 1.0, final=False, part="first")
        remote.learn(part, 2.0)
    check_replay(api.engine.store, api.state)


def test_the_same_without_waiting(served_api: tuple[Api, str]) -> None:
    api, url = served_api

    async def many() -> list[oc.Decided]:
        async with oc.AsyncClient(url, api.key) as client:
            remote = await client.create("fields", FARM["actions"], *MADE_OF)
            made = await asyncio.gather(*(remote.decide(FORECAST) for _ in range(20)))
            await asyncio.gather(*(remote.learn(one, 1.0, [19.0, 1.0]) for one in made[1:]))
            await remote.forget(made[0])
            assert (await remote.estimate(FORECAST)).mean.shape == (3,)
            assert repr(remote) == f"AsyncRemoteBandit('{url}', 'fields')"
            assert repr(client) == f"AsyncClient('{url}')"
            return list(made)

    assert len({one.id for one in asyncio.run(many())}) == 20
    assert api.state.lives["fields"].counts.outcomes == 19


class Flaky(httpx.HTTPTransport):
    """A network that loses every other request, or its answer after the service has taken the request in."""

    calls = 0

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.calls += 1
        if self.calls % 4 == 1:
            raise httpx.ConnectError("refused")
        response = super().handle_request(request)
        if self.calls % 4 == 2:
            response.read()
            raise httpx.ReadTimeout("lost")
        return response


def test_nothing_counts_twice_on_a_bad_network(served_api: tuple[Api, str], monkeypatch: pytest.MonkeyPatch) -> None:
    api, url = served_api
    waited: list[float] = []
    monkeypatch.setattr(time, "sleep", waited.append)
    api.post("/v1/bandits", FARM | {"name": "bad"})
    with httpx.Client(transport=Flaky()) as http:
        with oc.Client(url, api.key, http=http) as client:
            remote = client.bandit("bad")
            for _ in range(10):
                remote.learn(remote.decide(FORECAST), 1.0)
        assert not http.is_closed  # it belongs to somebody else
    life = api.state.lives["bad"]
    assert (life.counts.decisions, life.counts.outcomes, life.bandit.learnt.rounds) == (10, 10, 10)
    assert len(waited) >= 20


def test_errors(served_api: tuple[Api, str]) -> None:
    api, url = served_api
    with oc.Client(url, "oc_wrong") as client, pytest.raises(oc.ServiceError, match="Client: 401 unauthorized: key"):
        client.bandit("farm").decide(FORECAST)
    with oc.Client(f"{url}/", api.key) as client:
        for name in ("nobody", "../keys", "a b"):
            with pytest.raises(oc.ServiceError, match="Client: 404 not_found"):
                client.bandit(name).estimate(FORECAST)
        with pytest.raises(oc.ServiceError, match="Client: 422 invalid") as caught:
            client.create("bad name", ["a"], features="Bilinear")
        assert "\n" not in str(caught.value)
    with oc.Client("http://127.0.0.1:1", "oc_x", retries=0) as client:
        with pytest.raises(
            oc.ServiceError, match=r"no_answer: http://127\.0\.0\.1:1 gave none: ConnectError"
        ) as caught:
            client.bandit("farm").decide(FORECAST)
        assert caught.value.status is None
    with refused(ValueError, "Client", "url must start with"):
        oc.Client("127.0.0.1", "oc_x")
    with refused(ValueError, "Client", "key"):
        oc.Client(url, "two\nlines")
    with refused(ValueError, "Client", "timeout"):
        oc.Client(url, "x", timeout=0)


def test_the_key_is_not_shown(served_api: tuple[Api, str]) -> None:
    api, url = served_api
    with oc.Client(url, api.key) as client:
        assert api.key not in f"{client!r} {client.bandit('farm')!r}"


def test_the_package_alone_loads_no_library_for_http(tmp_path: Path) -> None:
    program = "import sys, overcast; overcast.Client; assert not {'httpx', 'asyncio'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True, cwd=tmp_path)


def test_the_page_of_the_site_runs(
    served_api: tuple[Api, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    api, url = served_api
    monkeypatch.setenv("OVERCAST_KEY", api.key)
    page = (Path(__file__).parents[2] / "docs" / "service" / "client.md").read_text()
    blocks = re.findall(r"^```{code-block} python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 5
    names: dict[str, Any] = {}
    exec("\n".join(blocks).replace("http://127.0.0.1:8765", url), names)
    assert "409 conflict" in capsys.readouterr().out
    assert len(names["decisions"]) == 2
