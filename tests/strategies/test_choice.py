from __future__ import annotations

import pytest

from widemargin.objectives.base import Objective
from widemargin.strategies import CMAES, STRATEGIES, GridSearch, NoisyRprop, Rprop, SecondOrder
from widemargin.strategies.choice import strategy_named, why_not


class Measured(Objective):
    name = "measured"

    def __init__(self, *, differentiable=True, deterministic=True):
        self.differentiable, self.deterministic = differentiable, deterministic

    def bind(self, task):
        raise NotImplementedError


def test_names():
    assert set(STRATEGIES) == {"rprop", "noisy-rprop", "cma-es", "newton", "l-bfgs-b", "grid", "random", "tabu"}
    for name, strategy in STRATEGIES.items():
        assert type(strategy_named(name)) is strategy
        assert strategy_named(name) == strategy()
        assert hash(strategy_named(name)) == hash(strategy())
    given = Rprop(initial_step=0.5)
    assert strategy_named(given) is given
    with pytest.raises(ValueError, match=r"strategy must be 'rprop', 'noisy-rprop', .* or 'tabu', or an object with"):
        strategy_named("gradient-descent")


def test_noise_makes_cma_es_choose_a_mean():
    assert strategy_named("cma-es") == CMAES()
    assert strategy_named("cma-es", deterministic=False) == CMAES(answer="mean")
    assert strategy_named("noisy-rprop", deterministic=False) == NoisyRprop()
    assert strategy_named(CMAES(), deterministic=False) == CMAES()


def test_what_suits():
    assert why_not(Rprop(), Measured(), n_dims=3) is None
    assert why_not(GridSearch(), Measured(differentiable=False), n_dims=3) is None
    assert why_not(SecondOrder(), Measured(), n_dims=1, second_derivatives=True) is None
    assert why_not(NoisyRprop(), Measured(deterministic=False), n_dims=3) is None


def test_what_does_not():
    assert why_not(
        Rprop(), Measured(differentiable=False), n_dims=1, described="objective='cross-validation' with 0-1 loss"
    ) == (
        "strategy='rprop' needs a gradient, and objective='cross-validation' with 0-1 loss has none; "
        "'cma-es', 'grid', 'random' and 'tabu' work without."
    )
    assert why_not(GridSearch(), Measured(deterministic=False), n_dims=1) == (
        "strategy='grid' needs a deterministic objective, and objective='measured' is random; "
        "'noisy-rprop' and 'cma-es' accept noise."
    )
    assert why_not(SecondOrder(), Measured(), n_dims=1) == (
        "strategy='newton' needs second derivatives, and objective='measured' has none for this kernel; "
        "'rprop', 'noisy-rprop', 'cma-es', 'l-bfgs-b', 'grid', 'random' and 'tabu' work without."
    )
    assert why_not(SecondOrder(), Measured(), n_dims=2, second_derivatives=True).startswith(
        "strategy='newton' searches along one parameter, and there are 2; 'rprop',"
    )
    both = Measured(differentiable=False, deterministic=False)
    assert why_not(NoisyRprop(), both, n_dims=2).endswith("has none; 'cma-es' works without.")
