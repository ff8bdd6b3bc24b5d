"""The batched solver against scikit-learn, planted truths and properties."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from seedvote.probes.classifiers import lbfgs, logistic, reference
from seedvote.probes.classifiers.logistic import fit_features
from seedvote.probes.scoring import count_hits
from seedvote.probes.tasks.labels import Labels


@pytest.fixture(autouse=True)
def one_thread():
    torch.set_num_threads(1)


def as_labels(matrix, *, many=True):
    _, columns = np.nonzero(matrix)
    names = tuple(f"l{number}" for number in range(matrix.shape[1]))
    starts = np.cumsum([0, *matrix.sum(1)])
    return Labels("Planted", many, names, starts, columns.astype(np.int32), np.zeros(len(matrix), np.int32), 0)


def one_of(target, classes):
    return as_labels(np.eye(classes, dtype=bool)[target], many=False)


def states(n=900, width=24, seed=0):
    rng = np.random.default_rng(seed)
    mixed = rng.standard_normal((n, width)) @ rng.standard_normal((width, width))
    return np.tanh(mixed / 3).astype(np.float32) * 5 + 1


def long_tail(x, labels=15, seed=1):
    rng = np.random.default_rng(seed)
    score = x @ rng.standard_normal((x.shape[1], labels)) + 4 * rng.standard_normal((len(x), labels))
    return np.stack([score[:, k] > np.quantile(score[:, k], 1 - 0.5 / (k + 1)) for k in range(labels)], 1)


def long_tail_labels(x, number, many):
    matrix = long_tail(x, number)
    return as_labels(matrix) if many else one_of(matrix.argmax(1), number)


def fitted(x, labels, **options):
    axes = fit_features(x)
    features = axes.apply(x)
    return logistic.fit_logistic(features, axes, labels, **options), features


def objective(model, x, y, c):
    """The many-label objective of scikit-learn, in double precision."""
    margin = np.where(y, 1, -1) * (x @ model.coef_[0] + model.intercept_[0])
    return c * np.logaddexp(0, -margin).sum() + (model.coef_**2).sum() / 2


@pytest.mark.parametrize("c", [0.01, 1.0])
def test_many_labels_reach_the_optimum_of_scikit_learn(c):
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    x = states()
    y = long_tail(x)
    ours, _ = fitted(x, as_labels(y), c=c)
    scaled = StandardScaler().fit_transform(x.astype(np.float64))
    for column, name in enumerate(ours.problems):
        oracle = LogisticRegression(C=c, tol=1e-10, solver="newton-cholesky", max_iter=1000).fit(scaled, y[:, column])
        assert ours.objective[column] == pytest.approx(objective(oracle, scaled, y[:, column], c), rel=1e-5), name
    assert ours.converged.all() and (ours.gap <= logistic.CONVERGED).all()


def test_one_label_reaches_the_optimum_of_scikit_learn():
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    x = states()
    target = long_tail(x, 5).argmax(1)
    ours, features = fitted(x, one_of(target, 5))
    scaled = StandardScaler().fit_transform(x.astype(np.float64))
    oracle = LogisticRegression(tol=1e-10, max_iter=10_000).fit(scaled, target)
    chance = oracle.predict_proba(scaled)[np.arange(len(x)), target]
    assert ours.objective[0] == pytest.approx((oracle.coef_**2).sum() / 2 - np.log(chance).sum(), rel=1e-5)
    assert (ours.predict(features).argmax(1) == oracle.predict(scaled)).mean() > 0.998


@pytest.mark.parametrize("many", [True, False])
def test_f1_is_that_of_the_oracle(many):
    train, report = states(seed=2), states(700, seed=2)
    labels, gold = (long_tail_labels(side, 8, many) for side in (train, report))
    axes = fit_features(train)
    ours = logistic.fit_logistic(axes.apply(train), axes, labels).predict(axes.apply(report))
    oracle = reference.fit_exactly(train, labels, report)
    assert oracle.converged.all()
    assert count_hits(ours, gold).micro_f1 == pytest.approx(count_hits(oracle.predicted, gold).micro_f1, abs=0.001)


def test_states_that_contain_the_label_reach_it():
    x = states(2000)
    rng = np.random.default_rng(3)
    y = rng.random((2000, 6)) < 0.2
    x[:, :6] += 40 * y
    ours, features = fitted(x, as_labels(y))
    assert count_hits(ours.predict(features), as_labels(y)).micro_f1 > 0.99
    x, target = states(2000), rng.integers(0, 4, 2000)
    x[:, :4] += 40 * np.eye(4)[target]
    ours, features = fitted(x, one_of(target, 4))
    assert count_hits(ours.predict(features), one_of(target, 4)).micro_f1 > 0.99


def test_random_states_fall_to_the_majority_share():
    x, rng = states(3000, 10), np.random.default_rng(4)
    target = rng.choice(3, 3000, p=[0.6, 0.3, 0.1])
    axes = fit_features(x[:2000])
    ours = logistic.fit_logistic(axes.apply(x[:2000]), axes, one_of(target[:2000], 3))
    found = count_hits(ours.predict(axes.apply(x[2000:])), one_of(target[2000:], 3)).micro_f1
    assert found == pytest.approx((target[2000:] == 0).mean(), abs=0.02)


@pytest.mark.parametrize("factor", [1e-3, 100.0])
def test_rescaling_the_features_changes_nothing(factor):
    x = states()
    labels = as_labels(long_tail(x))
    plain, features = fitted(x, labels)
    scaled, rescaled = fitted(x * np.float32(factor), labels)
    assert plain.objective == pytest.approx(scaled.objective, rel=1e-5)
    assert (plain.predict(features) == scaled.predict(rescaled)).mean() > 0.9995


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_the_order_of_examples_does_not_matter(seed):
    x = states(400, 8, seed)
    y = long_tail(x, 6, seed)
    order = np.random.default_rng(seed).permutation(len(x))
    assert fitted(x, as_labels(y))[0].objective == pytest.approx(
        fitted(x[order], as_labels(y[order]))[0].objective, rel=1e-5
    )


def test_a_label_column_given_twice_gets_the_same_answer_twice():
    x = states()
    y = long_tail(x, 6)
    once, features = fitted(x, as_labels(y))
    twice, _ = fitted(x, as_labels(np.hstack([y, y])))
    predicted = twice.predict(features)
    assert (predicted[:, :6] == predicted[:, 6:]).all()
    assert (predicted[:, :6] == once.predict(features)).mean() > 0.9995


def test_two_solves_are_equal_to_the_bit():
    x = states()
    labels = as_labels(long_tail(x))
    assert torch.equal(fitted(x, labels)[0].weights, fitted(x, labels)[0].weights)


def test_nothing_is_called_converged_that_is_not():
    x = states()
    cut_short, _ = fitted(x, as_labels(long_tail(x)), passes=2)
    assert not cut_short.converged.any() and (cut_short.gradient > 1).all()


def planted(separable, many, classes=4):
    """Labels of 300 states, and the states, which hold the labels if `separable`."""
    x = states(300, 8)
    y = long_tail(x, classes)
    target = y.argmax(1)
    if separable:
        x[:, :classes] += 9 * (y if many else np.eye(classes)[target])
    return x, (y if many else np.eye(classes, dtype=bool)[target])


def lowest(x, y, c, many):
    """The objective of each problem by scikit-learn's Newton solver in double precision."""
    from sklearn.linear_model import LogisticRegression

    how = {"C": c, "tol": 1e-12, "max_iter": 1000, "solver": "newton-cholesky"}
    if many:
        models = [LogisticRegression(**how).fit(x, column) for column in y.T]
        return np.array([objective(model, x, column, c) for model, column in zip(models, y.T, strict=True)])
    model = LogisticRegression(**how).fit(x, y.argmax(1))
    return np.array([(model.coef_**2).sum() / 2 - c * model.predict_log_proba(x)[y].sum()])


def attained(weights, x, y, c, many):
    """The objective of each problem in double precision, at these weights."""
    logits = x @ weights[:-1] + weights[-1]
    penalty = (weights[:-1] ** 2).sum(0) / 2
    if many:
        return c * np.logaddexp(0, np.where(y, -logits, logits)).sum(0) + penalty
    return np.array([c * (np.logaddexp.reduce(logits, 1) - logits[y]).sum() + penalty.sum()])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning", "ignore::scipy.linalg.LinAlgWarning")
@pytest.mark.parametrize(
    ("c", "separable", "many"),
    [
        *itertools.product([1.0], [True, False], [True, False]),
        (1e4, True, True),
        pytest.param(1e4, True, False, marks=pytest.mark.slow),
        *itertools.product([1e4], [False], [True, False]),
    ],
)
def test_the_gap_is_a_bound_for_any_c_and_for_labels_that_can_be_separated(c, separable, many):
    """The lowest value that another solver found is no lower than the gap allows; "converged" means within 1e-5."""
    x, y = planted(separable, many)
    axes = fit_features(x)
    features, labels = axes.apply(x), as_labels(y, many=many)
    exact = features[:, :-1].double().numpy()  # the rotation changes no objective
    best = lowest(exact, y, c, many)
    for passes in (4, logistic.FIT_PASSES):
        fit = logistic.fit_logistic(features, axes, labels, c=c, passes=passes)
        found = attained(fit.weights.double().numpy(), exact, y, c, many)
        assert fit.objective == pytest.approx(found, rel=1e-5)
        assert (found * (1 - fit.gap) <= best * (1 + 1e-7)).all()
        assert (found[fit.converged] <= best[fit.converged] * (1 + 1e-5)).all()
        assert (fit.converged == (fit.gap <= 1e-5)).all()
    assert fit.converged.all() or (separable and c > 1)


def test_what_single_precision_cannot_end_is_ended_in_double(monkeypatch):
    x, y = planted(True, False)
    monkeypatch.setattr(logistic, "SINGLE_PASSES", 20)
    fit, features = fitted(x, as_labels(y, many=False))
    assert fit.converged.all() and (fit.passes > 20).all() and fit.weights.dtype is torch.float64
    assert (fit.predict(features) == y).all()


def test_logistic_answers_constant_labels():
    x = states(100)
    y = np.zeros((100, 3), bool)
    y[:, 0], y[:50, 2] = True, True
    ours, features = fitted(x, as_labels(y))
    assert ours.predict(features)[:, 0].all() and not ours.predict(features)[:, 1].any()
    assert ours.problems == ("l2",)
    nothing, _ = fitted(x, as_labels(y[:, :2]))
    assert nothing.problems == () and nothing.predict(features)[:, 0].all()


def test_a_task_with_a_single_label_is_answered_with_it():
    x = states(100)
    ours, features = fitted(x, one_of(np.zeros(100, int), 1))
    assert ours.predict(features).all() and ours.converged.all()


def test_a_feature_that_does_not_vary_counts_for_nothing():
    x = states(200, 5)
    labels = as_labels(long_tail(x, 4))
    wider = np.hstack([x, np.full((200, 1), 7.3, np.float32)])
    assert fitted(wider, labels)[0].objective == pytest.approx(fitted(x, labels)[0].objective, rel=1e-5)


@pytest.mark.parametrize("sample", [50, 10**6])
@pytest.mark.parametrize("many", [True, False])
def test_the_sample_that_guesses_the_step_changes_nothing_but_the_time(monkeypatch, sample, many):
    x = states()
    labels = long_tail_labels(x, 8, many)
    usual, _ = fitted(x, labels)
    monkeypatch.setattr(logistic, "_SLOPE_SAMPLE", sample)
    monkeypatch.setattr(logistic, "_FEWEST", sample)
    other, _ = fitted(x, labels)
    assert other.converged.all() and other.objective == pytest.approx(usual.objective, rel=1e-5)


def five_labels(many):
    """A likelihood, its null model, and the numbers of its problems."""
    x = states()
    labels = long_tail_labels(x, 5, many)
    axes = fit_features(x)
    kind = logistic.ManyLabels if many else logistic.OneLabel
    problem = kind(axes.apply(x), axes.variance, labels.sparse(), 0.7)
    start = problem.start()
    return problem, start, torch.arange(len(start.points))


@pytest.mark.parametrize("many", [True, False])
def test_a_value_is_computed_once_and_the_first_lengths_are_guessed(monkeypatch, many):
    kind = logistic.ManyLabels if many else logistic.OneLabel
    compute_values, bend = kind.values, kind.bend
    asked, guesses = [], []
    monkeypatch.setattr(kind, "values", lambda *given: asked.extend(given[2].tolist()) or compute_values(*given))
    monkeypatch.setattr(kind, "bend", lambda *given: guesses.append(1) or bend(*given))
    x = states()
    fit, _ = fitted(x, long_tail_labels(x, 15, many))
    assert max(np.bincount(asked)) == 2  # the second time for the certificate
    assert len(guesses) == lbfgs.GUESSED < fit.passes.max()


@pytest.mark.parametrize("many", [True, False])
def test_the_objective_falls_with_its_gradient(monkeypatch, many):
    """At random points: the slope of the value along a direction, by differences, is gradient times direction."""
    monkeypatch.setattr(logistic, "_FEWEST", 900)  # the sample is all there is
    problem, start, which = five_labels(many)
    draw = torch.Generator().manual_seed(5)
    point, along = (torch.randn(start.points.shape, generator=draw) / 10 for _ in range(2))
    assert problem.values(start.points, which).tolist() == pytest.approx(start.values.tolist(), rel=1e-6)
    assert torch.allclose(problem.gradients(start.points, which), start.gradients, atol=1e-3)
    rise = (problem.values(point + 0.01 * along, which) - problem.values(point - 0.01 * along, which)) / 0.02
    slope = (problem.gradients(point, which) * along).sum(1)
    assert rise.tolist() == pytest.approx(slope.tolist(), rel=5e-3, abs=0.05)
    bent = problem.bend(point, along, which)(torch.full((len(which),), 0.5))
    further = (problem.gradients(point + 0.5 * along, which) * along).sum(1)
    assert (further - slope).tolist() == pytest.approx(bent.tolist(), rel=1e-3)


@pytest.mark.parametrize("many", [True, False])
def test_the_preconditioner_is_the_inverse_hessian_of_the_null_model(many):
    """By differences of the gradient there; one label's intercepts are left out, which may all be shifted."""
    problem, start, which = five_labels(many)
    step = torch.randn(5, 25, generator=torch.Generator().manual_seed(7)) / 100
    step[:, -1] = 0
    step = step.reshape(start.points.shape)
    change = problem.gradients(start.points + step, which) - problem.gradients(start.points - step, which)
    assert torch.allclose(problem.precondition(change / 2, which), step, atol=3e-4)


@pytest.mark.parametrize("many", [True, False])
def test_labels_that_are_separable_and_nearly_alone_converge(many):
    """Three examples in 3,000, far from the rest: the optimum is far out, where only the penalty holds the weights."""
    x, rng = states(3000, 12), np.random.default_rng(6)
    y = np.zeros((3000, 4), bool)
    for column in range(4):
        y[rng.choice(3000, 3, replace=False), column] = True
    x[:, :4] += 60 * y
    ours, _ = fitted(x, as_labels(y) if many else one_of(np.where(y.any(1), 1 + y.argmax(1), 0), 5))
    assert ours.converged.all()


@pytest.mark.parametrize(
    ("many", "largest"),
    [
        (True, logistic.LARGEST),
        pytest.param(True, 500, marks=pytest.mark.slow),
        pytest.param(False, logistic.LARGEST, marks=pytest.mark.slow),
        (False, 500),
    ],
)
def test_solving_together_ends_where_each_does_alone(monkeypatch, many, largest):
    """To the bit, whatever goes together: two widths, unlike lengths of data, a label that one of them never sees."""
    monkeypatch.setattr(logistic, "LARGEST", largest)
    given = []
    for seed, (n, width) in enumerate([(900, 24), (900, 24), (300, 24), (900, 7)]):
        x = states(n, width, seed)
        labels = long_tail_labels(x, 9, many)
        axes = fit_features(x)
        orders = np.arange(n), np.random.default_rng(seed).permutation(n)
        given += [logistic.FitTask(axes.apply(x), axes, labels.take(order)) for order in orders]
    rare = given[0].labels.dense()[:, -1].nonzero()[0]
    kept = np.setdiff1d(np.arange(900), rare)
    given.append(logistic.FitTask(given[0].features[kept], given[0].axes, given[0].labels.take(kept)))
    together = logistic.fit_all(given)
    assert len({len(fit.problems) for fit in together}) == (2 if many else 1)
    for one, fit in zip(given, together, strict=True):
        alone = logistic.fit_logistic(*one)
        assert torch.equal(fit.weights, alone.weights) and fit.problems == alone.problems and fit.converged.all()
        for name in ("objective", "gradient", "gap", "passes"):
            assert np.array_equal(getattr(fit, name), getattr(alone, name))


def test_a_solve_holds_no_more_than_fits_unless_one_task_alone_does(monkeypatch):
    x = states()
    axes = fit_features(x)
    features, sizes = axes.apply(x), []
    monkeypatch.setattr(logistic, "LARGEST", 25 * 20)
    solve = logistic.minimise_all
    monkeypatch.setattr(logistic, "minimise_all", lambda parts, **how: sizes.append(len(parts)) or solve(parts, **how))
    tasks = [logistic.FitTask(features, axes, long_tail_labels(x, number, True)) for number in (15, 8, 12, 7, 1)]
    assert [len(fit.problems) for fit in logistic.fit_all([*tasks, *tasks[:1]])] == [15, 8, 12, 7, 1, 15]
    assert sizes == [1, 2, 2, 1]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("many", [True, False])
def test_a_cuda_device_finds_the_same_optimum(many):
    x = states()
    labels = long_tail_labels(x, 8, many)
    axes = fit_features(x, device="cuda")
    there = logistic.fit_logistic(axes.apply(x), axes, labels)
    assert there.converged.all() and there.weights.is_cuda
    assert there.objective == pytest.approx(fitted(x, labels)[0].objective, rel=1e-5)
