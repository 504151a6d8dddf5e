"""Search strategies, one file each: ask for points, be told values, stop."""

from widemargin.search.strategies.base import Ask, Space, Strategy, StrategyRun, Told

__all__ = ["Ask", "Space", "Strategy", "StrategyRun", "Told"]
