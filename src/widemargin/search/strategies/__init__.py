"""Search strategies, one file each: ask for points, be told values, stop."""

from widemargin.search.strategies.base import Ask, Space, Strategy, StrategyRun, Told
from widemargin.search.strategies.noisy_rprop import NoisyRprop
from widemargin.search.strategies.rprop import Rprop
from widemargin.search.strategies.second_order import SecondOrder

__all__ = ["Ask", "NoisyRprop", "Rprop", "SecondOrder", "Space", "Strategy", "StrategyRun", "Told"]
