"""Clients of the decision service, with the methods of a bandit."""

from overcast.client.clients import AsyncClient, AsyncRemoteBandit, Client, RemoteBandit
from overcast.client.messages import Decided, ServiceError

__all__ = ["AsyncClient", "AsyncRemoteBandit", "Client", "Decided", "RemoteBandit", "ServiceError"]
