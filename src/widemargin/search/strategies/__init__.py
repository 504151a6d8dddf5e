"""Search strategies, one file each: ask for points, be told values, stop."""

from widemargin.search.strategies.base import Ask, Space, Strategy, StrategyRun, Told
from widemargin.search.strategies.choice import STRATEGIES, strategy_named, why_not
from widemargin.search.strategies.cma_es import CMAES
from widemargin.search.strategies.grid import GridSearch
from widemargin.search.strategies.lbfgsb import LBFGSB
from widemargin.search.strategies.noisy_rprop import NoisyRprop
from widemargin.search.strategies.random_search import RandomSearch
from widemargin.search.strategies.rprop import Rprop
from widemargin.search.strategies.second_order import SecondOrder

__all__ = [
    "CMAES",
    "LBFGSB",
    "STRATEGIES",
    "Ask",
    "GridSearch",
    "NoisyRprop",
    "RandomSearch",
    "Rprop",
    "SecondOrder",
    "Space",
    "Strategy",
    "StrategyRun",
    "Told",
    "strategy_named",
    "why_not",
]
