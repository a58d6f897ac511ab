"""The conformance check of a feature map."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from overcast.beliefs import Ensemble, NoClosedForm, PointMass
from overcast.features import FeatureMap, Separable
from overcast.testing._compare import (
    DRAWS,
    draws_of,
    gaussian_around,
    require,
    require_average,
    require_equal,
    require_shape,
)


def check_features(features: FeatureMap, actions: ArrayLike, contexts: ArrayLike) -> None:
    """Check shapes and expectations of a feature map for actions (k, a) and contexts (n, c).

    Examples
    --------
    >>> from overcast.features import Quadratic
    >>> check_features(Quadratic(), actions=[[1.0, 2.0], [0.5, -1.0]], contexts=[[3.0, 4.0], [0.0, 1.0]])
    """
    name = type(features).__name__
    x, s = np.array(actions, dtype=float), np.array(contexts, dtype=float)
    (k, a), (n, c) = x.shape, s.shape
    d = features.size(a, c)
    phi = features(x, s)
    require_shape(name, "features(actions, contexts)", phi, (k, n, d))
    for i, j in np.ndindex(k, n):
        pair = features(x[i : i + 1], s[j : j + 1])[0, 0]
        require_equal(name, f"phi of action {i} and context {j} on its own", pair, phi[i, j])
    weights = np.arange(1.0, n + 1) / (n * (n + 1) / 2)
    average = np.einsum("knd,n->kd", phi, weights)
    require_equal(name, "expected under PointMass and phi", features.expected(x, PointMass(s[0])), phi[:, 0])
    require_equal(name, "expected under Ensemble and the average", features.expected(x, Ensemble(s, weights)), average)
    gaussian, members = gaussian_around(s), Ensemble(s, weights)
    draws = features(x, draws_of(gaussian, DRAWS))
    sampled = features.sampled(x, members, 20, np.random.default_rng(1))
    require_equal(
        name, "sampled and the average over the same draws", sampled, features(x, draws_of(members, 20)).mean(axis=1)
    )
    try:
        mean = features.expected(x, gaussian)
    except NoClosedForm as error:
        require("samples=" in str(error), name, f"NoClosedForm must say to pass samples=, got {error}")
    else:
        require_shape(name, "expected", mean, (k, d))
        require_average(name, "expected under Gaussian", draws.swapaxes(0, 1), mean)
    if isinstance(features, Separable):
        j_of, m_of = features.pairs(a, c)
        z, terms = features.action_terms(x), features.context_terms(s)
        require_equal(name, "products of action and context terms", z[:, None, j_of] * terms[None, :, m_of], phi)
        drawn = features.context_terms(draws_of(members, 20))
        sampled = features.sampled_terms(members, 20, np.random.default_rng(1))
        require_equal(name, "sampled_terms and the mean of context_terms", sampled, drawn.mean(axis=0))
        require_equal(name, "action_terms with a leading axis", features.action_terms(x[None])[0], z)
        require_equal(name, "context_terms with a leading axis", features.context_terms(s[None])[0], terms)
