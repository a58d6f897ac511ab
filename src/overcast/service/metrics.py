"""Metrics for Prometheus, in a registry of their own for each application."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from overcast.service.engine import Engine

_SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0)


class Metrics:
    """Counts and times of requests and commits, and the numbers of every bandit."""

    def __init__(self, engine: Engine) -> None:
        self.registry = CollectorRegistry()
        self._answers = Counter("overcast_requests", "Answers", ["route", "status"], registry=self.registry)
        self._seconds = Histogram(
            "overcast_request_seconds", "Time to answer", ["route"], buckets=_SECONDS, registry=self.registry
        )
        commits = Histogram(
            "overcast_commit_seconds", "Time to write durably", buckets=_SECONDS, registry=self.registry
        )
        engine.on_commit = commits.observe
        self.registry.register(_State(engine))

    def route(self, name: str) -> Callable[[int, float], None]:
        """Return a function that takes note of an answer's status and seconds."""
        seconds = self._seconds.labels(name)
        counters: dict[int, Counter] = {}

        def observe(status: int, spent: float) -> None:
            seconds.observe(spent)
            if status not in counters:
                counters[status] = self._answers.labels(name, str(status))
            counters[status].inc()

        return observe

    def text(self) -> bytes:
        """Return everything in the text format of Prometheus."""
        return generate_latest(self.registry)


class _State(Collector):
    """Numbers that follow from the state, read when they are asked for."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def collect(self) -> Iterator[Metric]:
        state = self._engine.state
        yield GaugeMetricFamily("overcast_ready", "Whether the log has been folded", float(state is not None))
        if state is None:
            return
        yield GaugeMetricFamily("overcast_log_position", "Last position of the log", float(state.position))
        yield GaugeMetricFamily("overcast_log_age_seconds", "Time since the log was last read", self._engine.age)
        moved = GaugeMetricFamily(
            "overcast_upgrade_moved", "Most that an upgrade moved a mean, in widths", labels=["bandit"]
        )
        for name, widths in self._engine.moved.items():
            moved.add_metric([name], widths)
        yield moved
        lives = list(state.lives.values())
        numbers = {
            "decisions": "Decisions made",
            "outcomes": "Outcomes learnt",
            "cancelled": "Decisions cancelled",
            "expired": "Decisions whose outcome did not come in time",
        }
        for name, text in numbers.items():
            family = GaugeMetricFamily(f"overcast_bandit_{name}", text, labels=["bandit"])
            for life in lives:
                family.add_metric([life.name], getattr(life.counts, name))
            yield family
        pending = GaugeMetricFamily("overcast_bandit_pending", "Decisions without an outcome", labels=["bandit"])
        for life in lives:
            pending.add_metric([life.name], len(life.open))
        yield pending
