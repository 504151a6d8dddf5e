"""Reports of searches: what they say, and how they add up."""

from __future__ import annotations

from widemargin.study.report import SearchReport


def test_a_grid_says_what_was_trained_skipped_failed_and_not_finished() -> None:
    report = SearchReport(trained=10, skipped=2, failed=3, unfinished=1985, iterations=5, seconds=1.0)
    first, second = str(report).splitlines()
    assert first == (
        "2,000 fits: 10 trained, 2 skipped as provably identical, 3 failed, 1,985 not finished; 5 iterations in 1 s"
    )
    assert second == "0 kernel values computed; 0 if fits shared nothing"
    assert str(SearchReport(trained=2, counted=False, seconds=120.4)) == "2 fits: 2 trained, each alone; 120 s"


def test_a_model_search_counts_evaluations_and_tells_of_its_path() -> None:
    path = SearchReport(trained=5, iterations=9, seconds=0.5)
    text = str(SearchReport(evaluations=1, trained=2, iterations=30, kernel_evaluations=400, path=path))
    assert text.splitlines()[0] == "1 evaluation in 0 s: 2 fits, 30 iterations, 400 kernel values"
    assert text.splitlines()[1] == "then C: 5 fits: 5 trained; 9 iterations in 0.5 s"


def test_reports_add_up() -> None:
    one = SearchReport(trained=2, skipped=3, unfinished=4, iterations=5, cold_kernel_evaluations=7, seconds=8.0)
    both = SearchReport.of_all([one, SearchReport(trained=20, failed=1, cold_kernel_evaluations=70, counted=False)])
    assert (both.trained, both.skipped, both.unfinished, both.failed, both.fits) == (22, 3, 4, 1, 30)
    assert (both.iterations, both.cold_kernel_evaluations, both.seconds, both.counted) == (5, 77, 8.0, False)
