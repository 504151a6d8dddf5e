"""Search strategies, one file each: ask for points, be told values, stop.

Sees numbers only; ``choice`` alone imports ``objectives``, to say which strategy suits which of them.
"""

from widemargin.strategies.base import Ask, Lattice, Space, Strategy, StrategyRun, Told
from widemargin.strategies.choice import STRATEGIES, strategy_named, why_not
from widemargin.strategies.cma_es import CMAES
from widemargin.strategies.grid import GridSearch
from widemargin.strategies.lbfgsb import LBFGSB
from widemargin.strategies.noisy_rprop import NoisyRprop
from widemargin.strategies.random_search import RandomSearch
from widemargin.strategies.rprop import Rprop
from widemargin.strategies.second_order import SecondOrder
from widemargin.strategies.tabu import TabuSearch

__all__ = [
    "CMAES",
    "LBFGSB",
    "STRATEGIES",
    "Ask",
    "GridSearch",
    "Lattice",
    "NoisyRprop",
    "RandomSearch",
    "Rprop",
    "SecondOrder",
    "Space",
    "Strategy",
    "StrategyRun",
    "TabuSearch",
    "Told",
    "strategy_named",
    "why_not",
]
