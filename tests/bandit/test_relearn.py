from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import overcast as oc
from memory_support import unchanged
from overcast.bandit.learn import relearn
from overcast.features import Bilinear
from overcast.kernels import RBF, Product
from support import refused


def _model(scale: float) -> oc.KernelModel:
    return oc.KernelModel(Product(RBF(scale), RBF(scale)), ridge=scale)


def _taught(model: Any) -> oc.Bandit:
    """Also leaves one decision open."""
    bandit, rng = oc.Bandit([[0.0], [1.0]], model, oc.UCB(1.0)), np.random.default_rng(0)
    for t in range(15):
        belief = oc.Gaussian(rng.normal(size=2), 0.2)
        bandit.observe(t % 2, belief, float(rng.normal()), context=rng.normal(size=2) if t % 3 else None)
    bandit.decide([0.0, 1.0], id="open")
    return bandit


def test_rounds_learnt_again_are_as_if_learnt_so_from_the_start() -> None:
    bandit, other = _taught(_model(0.5)), _taught(_model(2.0))
    relearn(bandit.state, _model(2.0))
    assert bandit.model == other.model
    for one in (bandit, other):
        one.learn("open", 1.0)
    mine, theirs = (one.estimate(oc.Gaussian([0.3, 0.4], 0.1)) for one in (bandit, other))
    np.testing.assert_allclose(mine.mean, theirs.mean, rtol=1e-9)
    np.testing.assert_allclose(mine.width, theirs.width, rtol=1e-9)


@pytest.mark.parametrize(
    ("bandit", "model", "words"),
    [
        (_taught(_model(1.0)), oc.LinearModel(Bilinear()), "relearn takes a KernelModel"),
        (oc.Bandit(["a", "b"], _model(1.0), oc.UCB(1.0)), _model(2.0), "relearn needs a KernelModel that has seen"),
    ],
)
def test_only_kernel_models_with_rounds_learn_again(bandit: oc.Bandit, model: Any, words: str) -> None:
    with unchanged(bandit), refused(TypeError, "Bandit", words):
        relearn(bandit.state, model)
