"""Metrics for Prometheus, in a registry of their own for each application."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from overcast.service.coverage import LEVELS, Coverage, coverage
from overcast.service.dashboard.window import latest
from overcast.service.engine import Engine
from overcast.service.fold import Life
from overcast.service.store.base import Unavailable

_SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0)


class Metrics:
    """Counts and times of requests and commits, and the numbers of every bandit."""

    def __init__(self, engine: Engine) -> None:
        self.registry = CollectorRegistry()
        self._answers = Counter("overcast_requests_total", "Answers", ["route", "status"], registry=self.registry)
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
        self._coverage: dict[str, tuple[int, list[Coverage]]] = {}

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
        totals = {
            "overcast_bandit_decisions_total": "Decisions made",
            "overcast_bandit_outcomes_total": "Outcomes learnt",
            "overcast_bandit_cancelled_total": "Decisions cancelled",
            "overcast_bandit_expired_total": "Decisions whose outcome did not come in time",
        }
        for name, text in totals.items():
            family = CounterMetricFamily(name, text, labels=["bandit"])
            for life in lives:
                family.add_metric([life.name], getattr(life.counts, name.split("_")[2]))
            yield family
        pending = GaugeMetricFamily("overcast_bandit_pending", "Decisions without an outcome", labels=["bandit"])
        for life in lives:
            pending.add_metric([life.name], len(life.open))
        yield pending
        yield from self._forecasts(lives)

    def _forecasts(self, lives: list[Life]) -> Iterator[Metric]:
        """Yield how the latest forecasts of each bandit did, by the contexts that were revealed."""
        labels = ["bandit", "dimension"]
        outcomes = GaugeMetricFamily("overcast_forecast_outcomes", "Latest contexts that were revealed", labels=labels)
        shares = GaugeMetricFamily(
            "overcast_forecast_coverage",
            "Share of them in central intervals of a nominal level",
            labels=[*labels, "level"],
        )
        places = GaugeMetricFamily("overcast_forecast_place", "Their mean place in the forecasts (PIT)", labels=labels)
        for life in lives:
            for one in self._judged(life):
                outcomes.add_metric([life.name, one.name], one.outcomes)
                places.add_metric([life.name, one.name], one.place)
                for level, share in zip(LEVELS, one.shares, strict=True):
                    shares.add_metric([life.name, one.name, f"{level:g}"], share)
        yield from (outcomes, shares, places)

    def _judged(self, life: Life) -> list[Coverage]:
        """Return how forecasts did; they are judged again only after something happened to the bandit."""
        position, found = self._coverage.get(life.name, (-1, []))
        if position != life.position:
            position = life.position
            with contextlib.suppress(Unavailable):
                found = coverage(latest(self._engine.store, life.name, position))
                self._coverage[life.name] = position, found
        return found
