"""What a search says of its work."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from widemargin.runtime import Work


@dataclass(frozen=True, kw_only=True, repr=False)
class SearchReport(Work):
    """What a search did, and what it was spared.

    `trained`, `skipped`, `unfinished` and `failed` count fits: for a grid search those of candidates on folds, for a
    model search those of its objective. Skipped ones are provably identical to one that was trained. `seconds` is the
    time of the search, without the final fit.

    Attributes
    ----------
    evaluations : int
        Of an objective; 0 for a grid search.
    cold_kernel_evaluations : int
        Kernel values that the same fits would compute if none shared anything: of each training sample with each one
        of the fold, once for every fit. This is a count, not a measurement: a solver that stays away from some samples
        computes fewer, one whose cache is too small more. :func:`widemargin.model_selection.measure_cold` measures.
        Workers side by side may compute a matrix more than once, so that `kernel_evaluations` can differ from one run
        to the next.
    counted : bool
        Whether iterations and kernel values were counted; they are not where every model was trained alone.
    path : SearchReport or None
        What was spent on choosing C once the kernel was, if the objective does not choose it.

    Examples
    --------
    >>> print(SearchReport(trained=60, skipped=20, iterations=4000, kernel_evaluations=1_600_000,
    ...     cold_kernel_evaluations=30_720_000, seconds=0.25))
    80 fits: 60 trained, 20 skipped as provably identical; 4,000 iterations in 0.25 s
    1,600,000 kernel values computed; 30,720,000 if fits shared nothing
    >>> print(SearchReport(evaluations=120, trained=240, iterations=5300, kernel_evaluations=9_600_000, seconds=1.5))
    120 evaluations in 1.5 s: 240 fits, 5,300 iterations, 9,600,000 kernel values
    """

    evaluations: int = 0
    cold_kernel_evaluations: int = 0
    counted: bool = True
    path: SearchReport | None = None

    def __str__(self) -> str:
        seconds = f"{self.seconds:.3g}" if self.seconds < 100 else f"{self.seconds:,.0f}"
        if self.evaluations:
            text = (
                f"{self.evaluations:,} evaluation{'s' * (self.evaluations != 1)} in {seconds} s: {self.trained:,} "
                f"fits, {self.iterations:,} iterations, {self.kernel_evaluations:,} kernel values"
            )
            return text if self.path is None else f"{text}\nthen C: {self.path}"
        parts = [f"{self.fits:,} fits: {self.trained:,} trained"]
        for number, words in (
            (self.skipped, "skipped as provably identical"),
            (self.failed, "failed"),
            (self.unfinished, "not finished"),
        ):
            parts += [f"{number:,} {words}"] * (number > 0)
        fits = ", ".join(parts)
        if not self.counted:
            return f"{fits}, each alone; {seconds} s"
        return (
            f"{fits}; {self.iterations:,} iterations in {seconds} s\n{self.kernel_evaluations:,} kernel values "
            f"computed; {self.cold_kernel_evaluations:,} if fits shared nothing"
        )

    @staticmethod
    def of_all(reports: Iterable[SearchReport]) -> SearchReport:
        """Add up the reports of grid searches.

        Examples
        --------
        >>> one = SearchReport(trained=8, skipped=2, cold_kernel_evaluations=500)
        >>> both = SearchReport.of_all([one, one])
        >>> both.fits, both.cold_kernel_evaluations
        (20, 1000)
        """
        every = list(reports)
        return SearchReport(
            cold_kernel_evaluations=sum(one.cold_kernel_evaluations for one in every),
            counted=all(one.counted for one in every),
            **Work.total(every).counts(),
        )
