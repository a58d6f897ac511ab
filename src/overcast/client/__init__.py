"""The decision service from Python: the methods of a bandit, over HTTP."""

from overcast.client.clients import AsyncClient, AsyncRemoteBandit, Client, RemoteBandit
from overcast.client.messages import Decided, ServiceError

__all__ = ["AsyncClient", "AsyncRemoteBandit", "Client", "Decided", "RemoteBandit", "ServiceError"]
