"""Clients of the service, for callers that wait and for callers that do not."""

from __future__ import annotations

import time
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from overcast import _check
from overcast.client import messages
from overcast.client.messages import Ask, Decided
from overcast.client.retries import RETRIES, Answer, Lost, attempts
from overcast.decisions.record import Decision
from overcast.models.base import Estimate, Model
from overcast.policies.base import Policy

if TYPE_CHECKING:
    import httpx


class _Target:
    """Where requests go, and how often they are sent."""

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

    def arguments(self, ask: Ask) -> dict[str, Any]:
        """Return the arguments of `httpx.Client.request`."""
        body = {} if ask.body is None else {"json": ask.body}
        more = {"headers": self.headers, "timeout": self.timeout, "follow_redirects": False}
        return {"method": ask.method, "url": f"{self.url}{ask.path}", **body, **more}


class Client:
    """Asks the decision service, and waits for its answers.

    Requests that got no answer, or that the service could not take now, are sent again after a growing pause, or after
    as long as the service says. That is safe: every decision has an id from the start, and the service counts the same
    outcome once. Threads may share a client.

    Parameters
    ----------
    url : of the service, e.g. https://decisions.example.org
    key : as the service showed it when it was made
    timeout : seconds to wait for one answer
    retries : how often a request is sent again at most; by default for longer than the service takes to start
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
        self._own = http is None
        self._http = _httpx().Client() if http is None else http

    def bandit(self, name: str) -> RemoteBandit:
        """Return a bandit of the service by its name; nothing is asked yet."""
        return RemoteBandit(self, name)

    def create(
        self, name: str, actions: Any, model: Model | None = None, policy: Policy | None = None, **more: Any
    ) -> RemoteBandit:
        """Create a bandit, which needs a key with the scope `admin`, and return it.

        Parameters
        ----------
        name : of the bandit
        actions, model, policy : as for `Bandit`; the model and the policy must not hold functions
        more : other fields of the request, such as samples, seed, recalibrate, context, wait and default
        """
        self.ask(messages.creation(name, actions, model, policy, more))
        return self.bandit(name)

    def ask(self, ask: Ask) -> Any:
        """Send a request, again if that is safe and may help, and return the data of the answer."""
        plan = attempts(ask, self._target.url, self._target.retries)
        step = next(plan)
        try:
            while True:
                if step is None:
                    step = plan.send(self._sent(ask))
                else:
                    time.sleep(step)
                    step = next(plan)
        except StopIteration as end:
            return end.value

    def _sent(self, ask: Ask) -> Answer | Lost:
        httpx = _httpx()
        try:
            return _answer(self._http.request(**self._target.arguments(ask)))
        except httpx.HTTPError as error:
            return _lost(error)

    def close(self) -> None:
        """Close the connections."""
        if self._own:
            self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Client{self._target!r}"


class RemoteBandit:
    """A bandit of the service, with the methods of `Bandit`; made by `Client.bandit`.

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
        belief : what is known about the context, or anything `as_belief` takes
        available : the actions that may be taken now, by names, indices or a mask; None for all
        id : a name of your own for the decision; the same name with the same belief gets the same decision again
        """
        return messages.decided(self._client.ask(messages.decision(self._path, belief, available, id)))

    def learn(
        self,
        decision: Decided | Decision | str,
        reward: float,
        context: Any = None,
        *,
        final: bool = True,
        part: str | None = None,
    ) -> None:
        """Report the reward of a decision, at any time and in any order; the same report counts once.

        Parameters
        ----------
        decision : what `decide` returned, or its id
        reward : y_t; with parts, what this part adds
        context : c_t if it was revealed afterwards, or a belief about it, or anything `as_belief` takes; None if hidden
        final : False if further parts of the reward will come
        part : a name of your own for a part, by which it counts once
        """
        self._client.ask(messages.outcome(self._path, decision, reward, context, final, part))

    def forget(self, decision: Decided | Decision | str) -> None:
        """Cancel a decision that was never shown: it does not count."""
        self._client.ask(messages.cancellation(self._path, decision))

    def estimate(self, belief: Any) -> Estimate:
        """Return mean and width of all k actions under a belief; nothing is recorded."""
        return messages.estimated(self._client.ask(messages.question(self._path, belief)))

    def __repr__(self) -> str:
        return f"RemoteBandit({self._client._target.url!r}, {self.name!r})"


class AsyncClient:
    """Asks the decision service without blocking the event loop; as `Client` in all else.

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
        self._own = http is None
        self._http = _httpx().AsyncClient() if http is None else http

    def bandit(self, name: str) -> AsyncRemoteBandit:
        """Return a bandit of the service by its name; nothing is asked yet."""
        return AsyncRemoteBandit(self, name)

    async def create(
        self, name: str, actions: Any, model: Model | None = None, policy: Policy | None = None, **more: Any
    ) -> AsyncRemoteBandit:
        """Create a bandit and return it, as `Client.create`."""
        await self.ask(messages.creation(name, actions, model, policy, more))
        return self.bandit(name)

    async def ask(self, ask: Ask) -> Any:
        """Send a request, again if that is safe and may help, and return the data of the answer."""
        from asyncio import sleep  # which takes long to load, and most callers wait

        plan = attempts(ask, self._target.url, self._target.retries)
        step = next(plan)
        try:
            while True:
                if step is None:
                    step = plan.send(await self._sent(ask))
                else:
                    await sleep(step)
                    step = next(plan)
        except StopIteration as end:
            return end.value

    async def _sent(self, ask: Ask) -> Answer | Lost:
        httpx = _httpx()
        try:
            return _answer(await self._http.request(**self._target.arguments(ask)))
        except httpx.HTTPError as error:
            return _lost(error)

    async def aclose(self) -> None:
        """Close the connections."""
        if self._own:
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
    """A bandit of the service, with the methods of `Bandit` as coroutines; made by `AsyncClient.bandit`.

    Examples
    --------
    >>> import asyncio
    >>> import overcast as oc
    >>> async def made():
    ...     async with oc.AsyncClient("http://127.0.0.1:8765", "a key") as client:
    ...         return client.bandit("irrigation")
    >>> asyncio.run(made())
    AsyncRemoteBandit('http://127.0.0.1:8765', 'irrigation')
    """

    def __init__(self, client: AsyncClient, name: str) -> None:
        self.name, self._client, self._path = name, client, messages.bandit_path(name)

    async def decide(self, belief: Any, available: Any = None, *, id: str | None = None) -> Decided:  # noqa: A002
        """Choose an action, as `RemoteBandit.decide`."""
        return messages.decided(await self._client.ask(messages.decision(self._path, belief, available, id)))

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
        """Cancel a decision that was never shown: it does not count."""
        await self._client.ask(messages.cancellation(self._path, decision))

    async def estimate(self, belief: Any) -> Estimate:
        """Return mean and width of all k actions under a belief; nothing is recorded."""
        return messages.estimated(await self._client.ask(messages.question(self._path, belief)))

    def __repr__(self) -> str:
        return f"AsyncRemoteBandit({self._client._target.url!r}, {self.name!r})"


def _httpx() -> Any:
    try:
        import httpx
    except ModuleNotFoundError as error:
        raise ImportError(f"Client needs {error.name}; install it with pip install 'overcast[client]'") from None
    return httpx


def _answer(response: httpx.Response) -> Answer:
    is_json = response.headers.get("content-type", "").startswith("application/json")
    try:
        data: Any = response.json() if is_json else None
    except ValueError:
        data = None
    return Answer(response.status_code, data, response.text, response.headers.get("retry-after"))


def _lost(error: httpx.HTTPError) -> Lost:
    httpx = _httpx()
    sent = not isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout))
    return Lost(f"{type(error).__name__} {error}".strip(), sent)
