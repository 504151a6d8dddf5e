"""Search strategies, one file each: ask for points, be told values, stop."""

from widemargin.search.strategies.base import Ask, Space, Strategy, StrategyRun, Told
from widemargin.search.strategies.noisy_rprop import NoisyRprop
from widemargin.search.strategies.rprop import Rprop

__all__ = ["Ask", "NoisyRprop", "Rprop", "Space", "Strategy", "StrategyRun", "Told"]
