"""Standard coordinates: what they promise of one side, and of the features that designs make of both."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.polynomial import hermite_e, polynomial

from overcast._check import Array
from overcast.beliefs import Ensemble, Gaussian, PointMass
from overcast.beliefs.stacked import Catalogue
from overcast.features import Bilinear, Design, Disjoint, FeatureMap, Function, Linear, Polynomial, Quadratic
from overcast.features.design import DesignPoints
from overcast.features.standard import (
    COMMON,
    NEARLY,
    Frame,
    Moments,
    add_near_constant,
    compress_diagonal,
    constant_of_moments,
    constant_of_vectors,
    enlarge_constant,
    enlarge_constant_term,
    expand_diagonal,
    hermite,
    orthonormal,
    products,
    scaled,
    shifted,
    side_of_moments,
    side_of_vectors,
    variation,
    variety,
)

C, N = 2, 400
RNG = np.random.default_rng(0)
VECTORS = np.array([2.0, -30.0]) + np.array([0.1, 7.0]) * RNG.normal(size=(6, 2))
WITH_ONE = np.insert(VECTORS, 1, 3.0, axis=1)
CONTEXTS = np.array([18.0, 0.4]) + np.array([5.0, 0.3]) * RNG.normal(size=(N, C))
SEEN = Moments(CONTEXTS.mean(axis=0), CONTEXTS.var(axis=0))

CASES: dict[str, tuple[FeatureMap, Array]] = {
    "bilinear": (Bilinear(), VECTORS),
    "bilinear, constant action": (Bilinear(), WITH_ONE),
    "linear": (Linear(), VECTORS),
    "linear, constant action": (Linear(), WITH_ONE),
    "quadratic": (Quadratic(), VECTORS),
    "polynomial": (Polynomial(2), VECTORS),
    "cubic polynomial": (Polynomial(3), VECTORS),
    "disjoint": (Disjoint(3), np.eye(3)),
}
#: where a constant is among the functions, if no context is constant, and where one of them is nearly constant
CONSTANT = {"linear, constant action", "polynomial", "cubic polynomial"}
NEAR = {"bilinear", "bilinear, constant action", "disjoint"}
each_case = pytest.mark.parametrize("name", CASES)


def test_a_diagonal_stands_for_its_matrix() -> None:
    diagonal, matrix, vector = np.array([2.0, 3.0]), np.array([[2.0, 1.0], [0.0, 3.0]]), np.array([5.0, 7.0])
    np.testing.assert_array_equal(compress_diagonal(np.diag(diagonal)), diagonal)
    np.testing.assert_array_equal(compress_diagonal(matrix), matrix)
    np.testing.assert_array_equal(expand_diagonal(diagonal, 2), np.diag(diagonal))
    np.testing.assert_array_equal(expand_diagonal(matrix, 2), matrix)
    for own in (diagonal, matrix):
        frame = Frame(own, 2.0 * own, np.zeros(2), np.array(0.5))
        np.testing.assert_array_equal(frame.turn_terms(vector), expand_diagonal(own, 2) @ vector)
        np.testing.assert_array_equal(frame.turn_features(vector), 2.0 * expand_diagonal(own, 2) @ vector)
    stacked = compress_diagonal(np.stack([np.diag(diagonal), np.diag(-diagonal)]))
    np.testing.assert_array_equal(stacked, [diagonal, -diagonal])
    both = Frame(stacked, stacked, np.zeros((2, 2)), np.zeros(2))
    for turn in (both.turn_terms, both.turn_features):
        np.testing.assert_array_equal(turn(np.stack([vector, vector])), [[10.0, 21.0], [-10.0, -21.0]])


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_a_frame_turns_the_terms_of_one_belief_or_of_several(n: int) -> None:
    """As many beliefs as features do not pass for a matrix."""
    vectors, matrix = RNG.normal(size=(n, 3)), RNG.normal(size=(3, 3))
    for own in (matrix, matrix.diagonal()):
        frame = Frame(own, own, np.zeros(3), np.array(0.5))
        for turn in (frame.turn_terms, frame.turn_features):
            np.testing.assert_allclose(turn(vectors), [expand_diagonal(own, 2) @ one for one in vectors], rtol=1e-13)
    trials = RNG.normal(size=(n, 3, 3))
    for own, each in (
        (trials, trials),
        (matrix[None].repeat(n, axis=0).diagonal(0, 1, 2), [np.diag(np.diag(matrix))] * n),
    ):
        frame = Frame(own, own, np.zeros((n, 3)), np.zeros(n))
        got = frame.turn_terms(vectors)
        np.testing.assert_allclose(got, [m @ one for m, one in zip(each, vectors, strict=True)], rtol=1e-13)


def test_terms_divided_by_their_size() -> None:
    side = scaled(np.array([4.0, 0.0]))
    np.testing.assert_array_equal(side.matrix, np.diag([0.25, 1.0]))  # a term that is always zero stays
    np.testing.assert_array_equal(side.one, np.zeros(2))


@pytest.mark.parametrize("at", [0, 1, 2])
@pytest.mark.parametrize("level", [1.0, -40.0])
def test_a_constant_coordinate_centres_the_others(at: int, level: float) -> None:
    points = np.insert(CONTEXTS, at, level, axis=1)
    side = side_of_moments(Moments(points.mean(axis=0), points.var(axis=0)))
    standard = points @ side.matrix.T
    np.testing.assert_allclose(standard @ side.one, 1.0, rtol=1e-12)
    others = np.delete(standard, at, axis=1)
    np.testing.assert_allclose(others.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(others.std(axis=0), 1.0, rtol=1e-12)


def _times(points: Array) -> Array:
    """Return the mean square of coordinates over their variance, or over a hundredth of itself if that is larger."""
    squares = (points**2).mean(axis=0)
    return np.asarray(squares / np.maximum(points.var(axis=0), 0.01 * squares))


def test_without_a_constant_coordinates_have_variance_one() -> None:
    side = side_of_moments(SEEN)
    np.testing.assert_allclose((CONTEXTS @ side.matrix.T).var(axis=0), 1.0, rtol=1e-12)
    np.testing.assert_array_equal(side.one, np.zeros(2))
    zeros = side_of_moments(Moments(np.zeros(2), np.zeros(2)))
    np.testing.assert_array_equal(zeros.matrix, np.eye(2))
    np.testing.assert_array_equal(zeros.one, np.zeros(2))


@pytest.mark.parametrize(
    "vectors",
    [WITH_ONE, np.eye(3), np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]), np.eye(3)[[0, 1, 1, 2]] * [1.0, 2.0, 5.0]],
    ids=["a coordinate", "unit vectors", "mixtures", "of any length"],
)
def test_any_combination_of_coordinates_may_be_the_constant(vectors: Array) -> None:
    """Inner products are 1 and the sum of those of centred, scaled coordinates."""
    side = side_of_vectors(vectors, constant_of_vectors(vectors))
    standard = vectors @ side.matrix.T
    np.testing.assert_allclose(standard @ side.one, 1.0, rtol=1e-9)
    deviation = vectors.std(axis=0)
    varies = deviation > 0.0
    centred = (vectors - vectors.mean(axis=0))[:, varies] / deviation[varies]
    np.testing.assert_allclose(standard @ standard.T, 1.0 + centred @ centred.T, rtol=1e-9, atol=1e-9)


def test_vectors_that_span_no_constant_have_variance_one_unless_they_hardly_vary() -> None:
    side = side_of_vectors(VECTORS, constant_of_vectors(VECTORS))
    standard = VECTORS @ side.matrix.T
    assert standard[:, 1].var() == pytest.approx(1.0)
    assert (standard[:, 0] ** 2).mean() == pytest.approx(100.0)  # it varies by a twentieth of its size
    np.testing.assert_array_equal(side.one, np.zeros(2))


def test_each_trial_has_its_own_vectors() -> None:
    """One spans a constant, and one does not."""
    sets = np.stack([np.insert(VECTORS, 2, 1.0, axis=1), np.insert(VECTORS, 2, VECTORS[:, 0] ** 2, axis=1)])
    side = side_of_vectors(sets, constant_of_vectors(sets))
    for i, vectors in enumerate(sets):
        own = side_of_vectors(vectors, constant_of_vectors(vectors))
        np.testing.assert_allclose(side.matrix[i], own.matrix, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(side.one[i], own.one, rtol=1e-9, atol=1e-9)


def test_powers_of_a_shifted_and_scaled_number() -> None:
    mean, size, x = np.array([3.0, -1.0]), np.array([2.0, 0.5]), 1.7
    matrix = shifted(mean, size, 4)
    for i in range(2):
        np.testing.assert_allclose(matrix[i] @ x ** np.arange(5), ((x - mean[i]) / size[i]) ** np.arange(5), rtol=1e-12)


def test_hermite_polynomials_are_orthonormal_under_the_normal_distribution() -> None:
    """Gauss-Hermite quadrature with 8 points is exact up to degree 15."""
    points, weights = hermite_e.hermegauss(8)
    values = np.stack([polynomial.polyval(points, row) for row in hermite(5)])
    np.testing.assert_allclose((values * weights / math.sqrt(2.0 * math.pi)) @ values.T, np.eye(6), atol=1e-10)
    for e, row in enumerate(hermite(5)):
        expected = hermite_e.herme2poly([0.0] * e + [1.0]) / math.sqrt(math.factorial(e))
        np.testing.assert_allclose(row[: e + 1], expected, rtol=1e-12)


def test_polynomials_that_are_orthonormal_over_values() -> None:
    values = RNG.normal(size=(2, 7))
    coefficients = orthonormal(values, 3)
    for i in range(2):
        table = np.stack([polynomial.polyval(values[i], row) for row in coefficients[i]])
        np.testing.assert_allclose(table @ table.T / 7, np.eye(4), atol=1e-10)
        np.testing.assert_allclose(table[0], 1.0, rtol=1e-12)
        assert (coefficients[i].diagonal() > 0.0).all()
        np.testing.assert_allclose(np.triu(coefficients[i], 1), 0.0, atol=1e-12)


@pytest.mark.parametrize(("values", "known"), [([1.0, -1.0, 1.0], 2), ([0.0], 1), ([2.0, -1.0, -1.0, 0.0], 3)])
def test_a_polynomial_that_values_do_not_determine_vanishes_at_them_and_only_there(
    values: list[float], known: int
) -> None:
    coefficients = orthonormal(np.array(values), 4)
    table = np.stack([polynomial.polyval(np.array([*values, 5.0]), row) for row in coefficients])
    np.testing.assert_allclose(table[known:, :-1], 0.0, atol=1e-10)
    assert (np.abs(table[:known, :-1]).sum(axis=1) > 0.0).all()
    assert (np.abs(table[known:, -1]) > 0.0).all()


def test_products_of_polynomials() -> None:
    of_each = RNG.normal(size=(2, 3, 3))
    powers = np.array([[0, 0], [1, 0], [0, 1], [2, 1]])
    found = products(of_each, powers)
    for i, (e, f) in enumerate(powers):
        for j, (g, h) in enumerate(powers):
            assert found[i, j] == pytest.approx(of_each[0, e, g] * of_each[1, f, h])


def _standard_design(features: FeatureMap, actions: Array, c: int = C) -> Design:
    """Return the design that is standard for actions (k, a) or (r, k, a)."""
    return features.design(actions.shape[-1], c).standard(actions)


def _standard(name: str) -> tuple[Design, DesignPoints, Any]:
    features, actions = CASES[name]
    design = _standard_design(features, actions)
    return design, design.at(actions), _frame(design)


def _frame(design: Design) -> Any:
    """Return the frame of all contexts of this module, as a learner would see them one by one."""
    each = [design.moments(design.view(PointMass(c))) for c in CONTEXTS]
    means = np.array([one.mean for one in each if one is not None])
    return design.frame(Moments(means.mean(axis=0), means.var(axis=0)))


def _written_out(design: Design, points: DesignPoints, view: Any, frame: Any) -> Array:
    """Return standard features of all actions, of all blocks if there are any, (k, d)."""
    return points.features(design.through(view, frame).terms)


@each_case
def test_standard_features_are_coefficients_times_features(name: str) -> None:
    """So theta over standard features, times these coefficients, is the same function over the map's own."""
    features, actions = CASES[name]
    design, points, frame = _standard(name)
    of_block = design.coefficients(frame)
    assert of_block is not None
    matrix = np.asarray(np.kron(np.eye(math.prod(design.shape[:-1])), of_block), dtype=np.float64)
    for belief in (Gaussian(CONTEXTS[0], [4.0, 0.02]), Ensemble(CONTEXTS[:5]), PointMass(CONTEXTS[1])):
        found = _written_out(design, points, design.view(belief), frame)
        expected = features.expected(actions, belief) @ matrix.T
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8)
    theta = RNG.normal(size=design.shape)
    view = design.view(PointMass(CONTEXTS[2]))
    along = points.along(design.through(view, frame), theta)
    own = theta.ravel() @ matrix
    np.testing.assert_allclose(along, features(actions, CONTEXTS[[2]])[:, 0] @ own, rtol=1e-8, atol=1e-8)


@each_case
def test_rows_follow_the_frame(name: str) -> None:
    """A row times the frame's matrix is the standard features of its action."""
    design, points, frame = _standard(name)
    view = design.view(Gaussian(CONTEXTS[3], [4.0, 0.02]))
    for index in range(len(points)):
        row = points.row(view, index, cov=False)
        found, all_blocks = frame.turn_features(row.psi), _written_out(design, points, view, frame)[index]
        own = all_blocks if row.block is None else all_blocks.reshape(design.shape)[int(row.block)]
        np.testing.assert_allclose(found, own, rtol=1e-9, atol=1e-9)


@each_case
def test_one_is_the_function_that_is_one_everywhere(name: str) -> None:
    design, points, frame = _standard(name)
    assert bool(frame.one.any()) == (name in CONSTANT | NEAR)
    views = [design.through(design.view(PointMass(c)), frame) for c in CONTEXTS]
    values = np.array([points.along(view, frame.one) for view in views])
    if name in CONSTANT:
        np.testing.assert_allclose(values, 1.0, rtol=1e-9)
    if name in NEAR:  # each side is off by NEARLY at most
        assert 0.0 < ((values - 1.0) ** 2).mean() < 2.0 * NEARLY


def test_the_nearest_constant_of_uncorrelated_coordinates() -> None:
    """E (u^T x - 1)^2 = (u^T m - 1)^2 + sum u^2 v is lowest at the solution of (diag(v) + m m^T) u = m."""
    mean, variance = np.array([[3.0, -1.0, 0.0], [0.0, 0.0, 0.0]]), np.array([[0.5, 4.0, 2.0], [1.0, 0.0, 3.0]])
    u, error = constant_of_moments(Moments(mean, variance))
    best = np.linalg.solve(np.diag(variance[0]) + np.outer(mean[0], mean[0]), mean[0])
    np.testing.assert_allclose(u[0], best, rtol=1e-12)
    assert error[0, 0] == pytest.approx((best @ mean[0] - 1.0) ** 2 + best**2 @ variance[0])
    np.testing.assert_array_equal(u[1], np.zeros(3))
    assert error[1, 0] == 1.0


def test_the_nearest_constant_of_vectors() -> None:
    stacked = np.stack([VECTORS, RNG.normal(size=VECTORS.shape)])
    u, error = constant_of_vectors(stacked)
    for vectors, found, wrong in zip(stacked, u, error[:, 0], strict=True):
        best = np.linalg.lstsq(vectors, np.ones(len(vectors)))[0]
        np.testing.assert_allclose(found, best, rtol=1e-9)
        assert wrong == pytest.approx(((vectors @ best - 1.0) ** 2).mean())


def test_what_is_nearly_constant_counts_and_what_is_not_does_not() -> None:
    """With mean 1, the squared error is v / (1 + v)."""
    at = NEARLY / (1.0 - NEARLY)
    near, far = (Moments(np.ones(1), np.array([at * times])) for times in (0.99, 1.01))
    side = add_near_constant(side_of_moments(near), constant_of_moments(near))
    assert float((side.one @ side.matrix)[0]) == pytest.approx(1.0 - NEARLY, rel=0.01)
    assert not add_near_constant(side_of_moments(far), constant_of_moments(far)).one.any()


def test_a_constant_is_preferred_to_what_is_nearly_one() -> None:
    both = Moments(np.array([5.0, 2.0]), np.array([0.01, 0.0]))
    np.testing.assert_array_equal(add_near_constant(side_of_moments(both), constant_of_moments(both)).one, [0.0, 1.0])


def test_only_a_constant_is_widened() -> None:
    exact, near = (
        side_of_vectors(WITH_ONE, constant_of_vectors(WITH_ONE)),
        add_near_constant(side_of_vectors(VECTORS, constant_of_vectors(VECTORS)), constant_of_vectors(VECTORS)),
    )
    for side, vectors, times in ((exact, WITH_ONE, COMMON), (near, VECTORS, 1.0)):
        assert side.one.any()
        terms = vectors @ side.matrix.T
        wider = enlarge_constant(side)
        more = enlarge_constant_term(wider, terms)
        np.testing.assert_allclose(more @ wider.one, terms @ side.one, rtol=1e-12)
        np.testing.assert_allclose(vectors @ wider.matrix.T, more, rtol=1e-9)
        along = side.one / np.linalg.norm(side.one)
        np.testing.assert_allclose(more @ along, times * (terms @ along), rtol=1e-9)


@pytest.mark.parametrize(
    ("features", "actions", "has"),
    [
        (Bilinear(), WITH_ONE, True),
        (Bilinear(), np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]), True),
        (Bilinear(), VECTORS, False),
        (Disjoint(3), np.eye(3), True),
        (Linear(), VECTORS, True),
        (Linear(), WITH_ONE, True),
        (Polynomial(2), VECTORS, True),
    ],
    ids=repr,
)
def test_a_constant_context_makes_a_constant_where_the_actions_allow_for_it(
    features: FeatureMap, actions: Array, has: bool
) -> None:
    contexts = np.insert(CONTEXTS, 1, 7.0, axis=1)
    design = _standard_design(features, actions, 3)
    each = [design.moments(design.view(PointMass(c))) for c in contexts]
    means = np.array([one.mean for one in each if one is not None])
    frame = design.frame(Moments(means.mean(axis=0), means.var(axis=0)))
    view = design.through(design.view(Gaussian(contexts[0], [1.0, 0.0, 0.1])), frame)
    assert np.allclose(design.at(actions).along(view, frame.one), 1.0, rtol=1e-9) == has


@pytest.mark.parametrize("name", [name for name in CASES if "polynomial" not in name])
def test_standard_features_are_of_one_size(name: str) -> None:
    """Over actions and contexts they have the variance that follows from each side, and COMMON^2 times it where no
    action changes them; quadratic terms have mean square one instead."""
    design, points, frame = _standard(name)
    found = np.stack([_written_out(design, points, design.view(PointMass(c)), frame) for c in CONTEXTS])
    if len(design.shape) > 1:
        found = found * math.sqrt(design.shape[0])  # each action has features in one block alone
    squares = (found**2).mean(axis=(0, 1))
    of_actions, of_contexts = _times(VECTORS), _times(CONTEXTS)
    if "constant" in name:  # the constant may be any combination of the three action terms: it counts in the sum
        total = 2.0 + COMMON**2
        total = total * of_contexts.sum() if name.startswith("bilinear") else total + of_contexts.sum()
        assert squares.sum() == pytest.approx(total, rel=1e-6)
    else:
        expected = {
            "bilinear": np.multiply.outer(of_actions, of_contexts).ravel(),
            "linear": np.concatenate([of_actions, of_contexts]),
            "disjoint": np.tile(of_contexts, 3),
            "quadratic": np.array([1.0, 1.0, COMMON**2, COMMON**2, 1.0, 1.0]),  # the squares of contexts are common
        }
        np.testing.assert_allclose(squares, expected[name], rtol=1e-6)


@each_case
def test_diversity_is_the_share_of_features_that_contexts_move(name: str) -> None:
    """Of what actions change: a centred context term counts in full, one about zero by its variance."""
    *_, frame = _standard(name)
    moved = (CONTEXTS.var(axis=0) / (CONTEXTS**2).mean(axis=0)).mean()
    expected = {
        "linear": 0.0,
        "linear, constant action": 0.0,
        "quadratic": 0.5 * moved,
        "polynomial": 4 / 9,  # x1, x2, their squares and product, and x1 and x2 times c1 and c2
        "cubic polynomial": 16 / 25,  # 9 of x alone; 5 up to degree two times c1 and c2; 2 times three of degree two
    }
    assert float(frame.diversity) == pytest.approx(expected.get(name, moved), rel=1e-9)


def _standard_terms(features: Polynomial, actions: Array) -> Array:
    basis = features.action_basis(actions, features.standard_actions(actions))
    return features.standard_action_terms(actions, basis)


def test_polynomials_of_actions_are_orthonormal_over_them() -> None:
    actions = np.linspace(1.0, 10.0, 10)[:, None]
    terms = _standard_terms(Polynomial(3), actions)
    np.testing.assert_allclose(terms.T @ terms / 10, np.eye(4), atol=1e-10)
    for other in (1e3 + actions, 0.01 * actions, 150.0 * (actions - 5.5)):
        np.testing.assert_allclose(_standard_terms(Polynomial(3), other), terms, rtol=1e-8, atol=1e-8)


@each_case
def test_units_drop_out(name: str) -> None:
    features, actions = CASES[name]
    of_actions = np.array([1.0, 1.0, 1.0] if isinstance(features, Disjoint) else [1e3, 1e-2, 0.3])[: actions.shape[1]]
    of_contexts = np.array([1e-3, 200.0])
    one, two = _standard_design(features, actions), _standard_design(features, of_actions * actions)
    moments = [
        np.array([d.moments(d.view(PointMass(by * c))).mean for c in CONTEXTS])  # type: ignore[union-attr]
        for d, by in ((one, 1.0), (two, of_contexts))
    ]
    frames = [d.frame(Moments(m.mean(axis=0), m.var(axis=0))) for d, m in zip((one, two), moments, strict=True)]
    first = _written_out(one, one.at(actions), one.view(PointMass(CONTEXTS[0])), frames[0])
    seen = two.view(PointMass(of_contexts * CONTEXTS[0]))
    second = _written_out(two, two.at(of_actions * actions), seen, frames[1])
    np.testing.assert_allclose(second, first, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_zero_points_drop_out_of_polynomials(degree: int) -> None:
    """A thousand units away, or fifty standard deviations if third powers are to keep their digits."""
    features, shift = Polynomial(degree), np.array([250.0, -15.0] if degree == 3 else [290.0, -1000.0])
    one, two = _standard_design(features, VECTORS), _standard_design(features, VECTORS + shift)
    frames = [_frame(one)]
    seen = [two.moments(two.view(PointMass(c + shift))) for c in CONTEXTS]
    means = np.array([m.mean for m in seen if m is not None])
    frames.append(two.frame(Moments(means.mean(axis=0), means.var(axis=0))))
    first = _written_out(one, one.at(VECTORS), one.view(PointMass(CONTEXTS[0])), frames[0])
    second = _written_out(two, two.at(VECTORS + shift), two.view(PointMass(CONTEXTS[0] + shift)), frames[1])
    np.testing.assert_allclose(second, first, rtol=0, atol=1e-7)


@each_case
def test_moments_are_those_of_the_context_terms(name: str) -> None:
    """Mean and variance of s(c) under the belief; draws in place of the expectation add a share of the variance."""
    features, actions = CASES[name]
    design, plain = _standard_design(features, actions), features.design(actions.shape[1], C)
    assert plain.moments(plain.view(PointMass(CONTEXTS[0]))) is None
    belief = Ensemble(CONTEXTS[:6])
    terms = CONTEXTS[:6] if isinstance(features, Disjoint) else features.context_terms(CONTEXTS[:6])  # type: ignore[attr-defined]
    found = design.moments(design.view(belief))
    assert found is not None
    assert design.terms == terms.shape[1]
    np.testing.assert_allclose(found.mean, terms.mean(axis=0), rtol=1e-10)
    np.testing.assert_allclose(found.variance, terms.var(axis=0), rtol=1e-8, atol=1e-12)
    sampled = design.moments(design.view(belief, 4, np.random.default_rng(0)))
    assert sampled is not None
    np.testing.assert_allclose(sampled.variance, 1.25 * terms.var(axis=0), rtol=1e-8, atol=1e-12)


@each_case
def test_frames_of_trials_in_lock_step(name: str) -> None:
    features, actions = CASES[name]
    if isinstance(features, Disjoint):
        sets = np.stack([actions, actions[::-1]])
    else:
        sets = np.stack([actions, 2.0 * actions[::-1] + (0.0 if "constant" in name else 0.3)])
    together, alone = _standard_design(features, sets), [_standard_design(features, own) for own in sets]
    beliefs = [Gaussian(CONTEXTS[0], [4.0, 0.02]), Ensemble(CONTEXTS[:5])]
    view, views = together.view(Catalogue(beliefs).pick(np.arange(2))), []
    moments = together.moments(view)
    assert moments is not None
    frame = together.frame(moments)
    theta = RNG.normal(size=(2, *together.shape))
    along = together.at(sets).along(together.through(view, frame), theta)
    for i, (design, belief) in enumerate(zip(alone, beliefs, strict=True)):
        points = design.at(sets[i])
        views.append(design.view(belief))
        own = design.moments(views[-1])
        assert own is not None
        mine = design.frame(own)
        np.testing.assert_allclose(along[i], points.along(design.through(views[-1], mine), theta[i]), rtol=1e-7)
        np.testing.assert_allclose(frame.one[i], mine.one, rtol=1e-9, atol=1e-9)


def test_a_map_of_any_form_is_taken_as_it_is() -> None:
    design = Function(lambda x, c: x[:, None] * c[None], 2).design(2, C)
    assert design.standard(VECTORS) is design
    assert design.terms == 0
    assert design.moments(design.view(PointMass(CONTEXTS[0]))) is None
    assert design.coefficients(None) is None


def test_the_share_of_a_coordinate_that_varies() -> None:
    """All of it if a constant centres it, else its variance over its mean square. What is always zero centres none."""
    with_one = Moments(np.array([1.0, 3.0]), np.array([0.0, 2.0]))
    np.testing.assert_array_equal(variety(with_one), [0.0, 1.0])
    with_zero = Moments(np.array([0.0, 2.0]), np.array([0.0, 1.0]))
    np.testing.assert_allclose(variety(with_zero), [0.0, 0.2], rtol=1e-15)


@pytest.mark.parametrize("level", [1.0, -300.0])
def test_what_varies_by_a_ten_thousand_millionth_of_its_size_is_a_constant(level: float) -> None:
    for deviation, constant in ((0.5e-10, True), (2e-10, False)):
        moments = Moments(np.array([level, 0.0]), np.array([(deviation * level) ** 2, 1.0]))
        np.testing.assert_array_equal(side_of_moments(moments).one, [float(constant), 0.0])
        assert variety(moments)[1] == 1.0
        assert constant_of_moments(moments)[0].any() != constant


def test_a_coordinate_that_hardly_varies_counts_as_if_it_varied_by_a_tenth_of_its_size() -> None:
    moments = Moments(np.array([100.0, 3.0]), np.array([1.0, 16.0]))
    sizes = [0.1 * np.sqrt(100.0**2 + 1.0), 4.0]
    np.testing.assert_allclose(variation(moments), sizes, rtol=1e-15)
    np.testing.assert_allclose(side_of_moments(moments).matrix, np.diag(1.0 / np.array(sizes)), rtol=1e-15)


def test_further_constants_have_their_size() -> None:
    moments = Moments(np.array([2.0, 50.0, 7.0]), np.array([0.0, 0.0, 9.0]))
    side = side_of_moments(moments)
    expected = [[1.0 / 2.0, 0.0, 0.0], [-1.0 / 2.0, 1.0 / 50.0, 0.0], [-7.0 / 3.0 / 2.0, 0.0, 1.0 / 3.0]]
    np.testing.assert_allclose(side.matrix, expected, rtol=1e-15)
    np.testing.assert_array_equal(side.one, [1.0, 0.0, 0.0])


def test_inner_products_of_vectors_with_several_constants_and_a_column_of_zeros() -> None:
    """Rounding leaves a deviation of 1e-17 in a column of tenths, which counts as none."""
    vectors = np.column_stack([np.full(7, 0.1), np.arange(7.0), np.zeros(7), np.full(7, 40.0)])
    assert 0.0 < vectors[:, 0].std() < 1e-16
    u, error = constant_of_vectors(vectors)
    assert np.isfinite(u).all()
    assert error[0] < 1e-20
    side = side_of_vectors(vectors, (u, error))
    sizes = np.array([0.1, np.arange(7.0).std(), 1.0, 40.0])
    rows = np.vstack([u, (np.eye(4) - np.outer(vectors.mean(axis=0), u)) / sizes[:, None]])
    np.testing.assert_allclose(side.matrix.T @ side.matrix, rows.T @ rows, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(vectors @ side.matrix.T @ side.one, 1.0, rtol=1e-9)


def test_vectors_of_which_some_give_one_span_no_constant() -> None:
    vectors = np.array([[1.0], [0.0]])
    side = side_of_vectors(vectors, constant_of_vectors(vectors))
    np.testing.assert_array_equal(side.one, [0.0])
    np.testing.assert_array_equal(side.matrix, [[2.0]])


@pytest.mark.parametrize(("error", "spans"), [(1e-9, True), (1e-7, False)])
def test_a_constant_is_spanned_up_to_a_stated_error(error: float, spans: bool) -> None:
    vectors = np.array([[1.0 + error, 1.0], [1.0 - error, -1.0], [1.0 + error, -1.0], [1.0 - error, 1.0]])
    assert side_of_vectors(vectors, constant_of_vectors(vectors)).one.any() == spans


def test_columns_that_are_nearly_the_same_may_span_a_constant() -> None:
    first = np.array([1.0, 4.0, -2.0, 3.0, 0.5])
    u, error = constant_of_vectors(np.column_stack([first, first + 1e-5]))
    np.testing.assert_allclose(u, [-1e5, 1e5], rtol=1e-6)
    assert error[0] < 1e-12


def test_after_a_degree_that_values_do_not_determine_none_is_determined() -> None:
    """Rounding of large powers may say otherwise."""
    values = np.array([-1498.997, -1498.997, -154.786, -1498.997])
    coefficients = orthonormal(values, 5)
    np.testing.assert_array_equal(coefficients.diagonal()[2:], 1.0)  # as they come, without a scale


@pytest.mark.parametrize(("apart", "known"), [(1e-7, True), (1e-9, False)])
def test_values_closer_than_a_stated_distance_are_one_value(apart: float, known: bool) -> None:
    slope = orthonormal(np.array([1.0 - apart, 1.0 + apart]), 1)[1, 1]
    assert slope == (pytest.approx(1.0 / apart, rel=1e-6) if known else 1.0)


def test_the_constants_are_those_that_were_chosen() -> None:
    """Results were measured with these; others need new measurements."""
    assert (NEARLY, COMMON) == (0.1, 1.3)
