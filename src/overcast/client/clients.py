"""Clients of the service, synchronous and asynchronous."""

from __future__ import annotations

import time
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from overcast import _check
from overcast.client import messages
from overcast.client.messages import Decided, Request
from overcast.client.retries import RETRIES, Answer, NoAnswer, attempts
from overcast.decisions.record import Decision
from overcast.models.base import Estimate, Model
from overcast.policies.base import Policy

if TYPE_CHECKING:
    import httpx


class _Target:
    """The address, key and limits that requests of a client share."""

    def __init__(self, url: str, key: str, timeout: float, retries: int) -> None:
        self.url = _check.text("Client", "url", url).rstrip("/")
        if not self.url.startswith(("http://", "https://")):
            raise ValueError(f"Client: url must start with http:// or https://, got {_check.short(url)}")
        if not (key.isascii() and key.isprintable()):
            raise ValueError("Client: key must be what the service showed when it was made, got something else")
        self.headers = {"Authorization": f"Bearer {key}"}
        self.timeout = _check.number("Client", "timeout", timeout, above=0.0)
        self.retries = _check.integer("Client", "retries", retries, at_least=0)

    def __repr__(self) -> str:
        return f"({self.url!r})"

    def arguments(self, request: Request) -> dict[str, Any]:
        """Return a request as arguments of `httpx.Client.request`."""
        body = {} if request.body is None else {"json": request.body}
        options = {"headers": self.headers, "timeout": self.timeout, "follow_redirects": False}
        return {"method": request.method, "url": f"{self.url}{request.path}", **body, **options}


class Client:
    """A synchronous client of the decision service.

    It sends a request again if there was no answer or the service was too busy, after a growing pause or after the time
    that the service states. That is safe: every decision has an id from the start, and the service counts an outcome
    once. Threads may share a client.

    Parameters
    ----------
    url : address of the service, e.g. https://decisions.example.org
    key : an access key, as the service showed it at its creation
    timeout : seconds to wait for one answer
    retries : how often a request is sent again at most; the default lasts longer than a start of the service
    http : an `httpx.Client` of your own, for proxies or certificates; the client does not close it

    Examples
    --------
    >>> import overcast as oc
    >>> with oc.Client("http://127.0.0.1:8765", key="oc_...") as client:
    ...     client.bandit("irrigation")
    RemoteBandit('http://127.0.0.1:8765', 'irrigation')
    """

    def __init__(
        self, url: str, key: str, *, timeout: float = 10.0, retries: int = RETRIES, http: httpx.Client | None = None
    ) -> None:
        self._target = _Target(url, key, timeout, retries)
        self._owns_http = http is None
        self._http = _import_httpx().Client() if http is None else http

    def bandit(self, name: str) -> RemoteBandit:
        """Return a bandit of the service by its name, without sending a request."""
        return RemoteBandit(self, name)

    def create(
        self, name: str, actions: Any, model: Model | None = None, policy: Policy | None = None, **more: Any
    ) -> RemoteBandit:
        """Create a bandit, which needs a key with the scope `admin`, and return it.

        Parameters
        ----------
        name : name of the bandit
        actions, model, policy : as for `Bandit`; the model and the policy must not hold functions
        more : other fields of the request, such as samples, seed, recalibrate, context, wait and default
        """
        self.ask(messages.creation(name, actions, model, policy, more))
        return self.bandit(name)

    def ask(self, ask: Request) -> Any:
        """Send a request, repeatedly if that is safe and may help; return the data of the answer."""
        plan = attempts(ask, self._target.url, self._target.retries)
        step = next(plan)
        try:
            while True:
                if step is None:
                    step = plan.send(self._send(ask))
                else:
                    time.sleep(step)
                    step = next(plan)
        except StopIteration as end:
            return end.value

    def _send(self, request: Request) -> Answer | NoAnswer:
        httpx = _import_httpx()
        try:
            return _read_answer(self._http.request(**self._target.arguments(request)))
        except httpx.HTTPError as error:
            return _no_answer(error)

    def close(self) -> None:
        """Close the connections."""
        if self._owns_http:
            self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Client{self._target!r}"


class RemoteBandit:
    """A bandit of the service, with the methods of `Bandit`; `Client.bandit` returns it.

    Examples
    --------
    >>> import overcast as oc
    >>> client = oc.Client("http://127.0.0.1:8765", "a key")
    >>> client.bandit("irrigation")
    RemoteBandit('http://127.0.0.1:8765', 'irrigation')
    >>> client.close()
    """

    def __init__(self, client: Client, name: str) -> None:
        self.name, self._client, self._path = name, client, messages.bandit_path(name)

    def decide(self, belief: Any, available: Any = None, *, id: str | None = None) -> Decided:  # noqa: A002
        """Choose an action.

        Parameters
        ----------
        belief : the belief about the context, or anything `as_belief` takes
        available : the available actions, as names, indices or a mask; None for all
        id : an id of your choice; the same id with the same belief returns the same decision again
        """
        return messages.read_decision(self._client.ask(messages.decision(self._path, belief, available, id)))

    def learn(
        self,
        decision: Decided | Decision | str,
        reward: float,
        context: Any = None,
        *,
        final: bool = True,
        part: str | None = None,
    ) -> None:
        """Report the reward of a decision, at any time and in any order; a repeated report counts once.

        Parameters
        ----------
        decision : what `decide` returned, or its id
        reward : y_t, or the part of it
        context : c_t if it was revealed afterwards, or a belief about it, or anything `as_belief` takes; None if hidden
        final : False if further parts of the reward will come
        part : a name of your choice for the part, so that it counts once
        """
        self._client.ask(messages.outcome(self._path, decision, reward, context, final, part))

    def forget(self, decision: Decided | Decision | str) -> None:
        """Cancel a decision that was not carried out, so that it does not count."""
        self._client.ask(messages.cancellation(self._path, decision))

    def estimate(self, belief: Any) -> Estimate:
        """Estimate mean and width of all k actions under a belief; nothing is recorded."""
        return messages.read_estimate(self._client.ask(messages.question(self._path, belief)))

    def __repr__(self) -> str:
        return f"RemoteBandit({self._client._target.url!r}, {self.name!r})"


class AsyncClient:
    """An asynchronous client of the decision service; it corresponds to `Client`.

    Parameters
    ----------
    url, key, timeout, retries : as for `Client`
    http : an `httpx.AsyncClient` of your own, for proxies or certificates; the client does not close it

    Examples
    --------
    >>> import asyncio, overcast as oc
    >>> async def decide(url, key, forecast):
    ...     async with oc.AsyncClient(url, key) as client:
    ...         return await client.bandit("irrigation").decide(forecast)
    """

    def __init__(
        self,
        url: str,
        key: str,
        *,
        timeout: float = 10.0,
        retries: int = RETRIES,
        http: httpx.AsyncClient | None = None,
    ) -> None:
        self._target = _Target(url, key, timeout, retries)
        self._owns_http = http is None
        self._http = _import_httpx().AsyncClient() if http is None else http

    def bandit(self, name: str) -> AsyncRemoteBandit:
        """Return a bandit of the service by its name, without sending a request."""
        return AsyncRemoteBandit(self, name)

    async def create(
        self, name: str, actions: Any, model: Model | None = None, policy: Policy | None = None, **more: Any
    ) -> AsyncRemoteBandit:
        """Create a bandit and return it, as `Client.create`."""
        await self.ask(messages.creation(name, actions, model, policy, more))
        return self.bandit(name)

    async def ask(self, ask: Request) -> Any:
        """Send a request, repeatedly if that is safe and may help; return the data of the answer."""
        from asyncio import sleep  # imported here, since it is slow to load and synchronous clients do not need it

        plan = attempts(ask, self._target.url, self._target.retries)
        step = next(plan)
        try:
            while True:
                if step is None:
                    step = plan.send(await self._send(ask))
                else:
                    await sleep(step)
                    step = next(plan)
        except StopIteration as end:
            return end.value

    async def _send(self, request: Request) -> Answer | NoAnswer:
        httpx = _import_httpx()
        try:
            return _read_answer(await self._http.request(**self._target.arguments(request)))
        except httpx.HTTPError as error:
            return _no_answer(error)

    async def aclose(self) -> None:
        """Close the connections."""
        if self._owns_http:
            await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"AsyncClient{self._target!r}"


class AsyncRemoteBandit:
    """A bandit of the service, with the methods of `Bandit` as coroutines; `AsyncClient.bandit` returns it.

    Examples
    --------
    >>> import asyncio
    >>> import overcast as oc
    >>> async def remote_bandit():
    ...     async with oc.AsyncClient("http://127.0.0.1:8765", "a key") as client:
    ...         return client.bandit("irrigation")
    >>> asyncio.run(remote_bandit())
    AsyncRemoteBandit('http://127.0.0.1:8765', 'irrigation')
    """

    def __init__(self, client: AsyncClient, name: str) -> None:
        self.name, self._client, self._path = name, client, messages.bandit_path(name)

    async def decide(self, belief: Any, available: Any = None, *, id: str | None = None) -> Decided:  # noqa: A002
        """Choose an action, as `RemoteBandit.decide`."""
        return messages.read_decision(await self._client.ask(messages.decision(self._path, belief, available, id)))

    async def learn(
        self,
        decision: Decided | Decision | str,
        reward: float,
        context: Any = None,
        *,
        final: bool = True,
        part: str | None = None,
    ) -> None:
        """Report the reward of a decision, as `RemoteBandit.learn`."""
        await self._client.ask(messages.outcome(self._path, decision, reward, context, final, part))

    async def forget(self, decision: Decided | Decision | str) -> None:
        """Cancel a decision that was not carried out, so that it does not count."""
        await self._client.ask(messages.cancellation(self._path, decision))

    async def estimate(self, belief: Any) -> Estimate:
        """Estimate mean and width of all k actions under a belief; nothing is recorded."""
        return messages.read_estimate(await self._client.ask(messages.question(self._path, belief)))

    def __repr__(self) -> str:
        return f"AsyncRemoteBandit({self._client._target.url!r}, {self.name!r})"


def _import_httpx() -> Any:
    try:
        import httpx
    except ModuleNotFoundError as error:
        raise ImportError(f"Client needs {error.name}; install it with pip install 'overcast[client]'") from None
    return httpx


def _read_answer(response: httpx.Response) -> Answer:
    is_json = response.headers.get("content-type", "").startswith("application/json")
    try:
        data: Any = response.json() if is_json else None
    except ValueError:
        data = None
    return Answer(response.status_code, data, response.text, response.headers.get("retry-after"))


def _no_answer(error: httpx.HTTPError) -> NoAnswer:
    httpx = _import_httpx()
    sent = not isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout))
    return NoAnswer(f"{type(error).__name__} {error}".strip(), sent)
