import json
from mmap import mmap
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from benchmarks.peers.__main__ import main
from benchmarks.peers.fit import Line as FitLine
from benchmarks.peers.fit import objections
from benchmarks.peers.measure import Job, Measurement, Run, alternate, fit_task, gram_task, memory_task, predict_task
from benchmarks.peers.memory import Line as MemoryLine
from benchmarks.peers.memory import Result as MemoryResult
from benchmarks.peers.memory import judge_memory, judge_time
from benchmarks.peers.models import KNOWN, MODELS
from benchmarks.peers.peers import PEERS, Settings
from benchmarks.peers.problems import PROBLEMS, Bar
from benchmarks.peers.session import Options, choose_peers, judge
from benchmarks.peers.table import render

MEGABYTE = 2**20
BAR = Bar(1 / 2, ("intelex", "intelex32"))


def options(**changes):
    usual = {
        "folder": None,
        "problems": ("waveform",),
        "peers": None,
        "repeats": 1,
        "n_jobs": 1,
        "time_limit": 60.0,
        "single_above": 30.0,
        "samples": None,
        "record": None,
    }
    return Options(**(usual | changes))


def test_fit_runs_and_records(tmp_path, capsys):
    record = tmp_path / "fit.json"
    common = ["--peers", "widemargin,sklearn", "--repeats", "2", "--samples", "200", "--n-jobs", "1"]
    main(["fit", "--problems", "waveform,banana", "--data", str(tmp_path), "--json", str(record), *common])
    printed = capsys.readouterr().out
    assert "waveform: 200 x 21" in printed
    assert "banana: skipped. The data folder" in printed
    assert "not judged: the problem has no bar" in printed
    (result,) = json.loads(record.read_text())["results"]
    lines = {line["peer"]: line for line in result["lines"]}
    assert set(lines) == {"widemargin", "sklearn"}
    for line in lines.values():
        assert len(line["all_seconds"]) == 2
        assert line["violation"] < 2e-3
        assert line["shortfall"] < 1e-4
    assert lines["widemargin"]["objective"] == pytest.approx(lines["sklearn"]["objective"], rel=1e-5)


@pytest.fixture
def model_folder(tmp_path):
    """A folder with some made-up rows of the stored machine problems."""
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 9))
    np.savez(tmp_path / "ad_shuttle.npz", X=X.astype(np.float32), y=np.repeat([0, 1], [250, 50]))
    X = random.normal(size=(200, 20))
    np.savez(tmp_path / "raetsch_german.npz", X=X, y=np.where(X[:, 0] + random.normal(size=200) > 0, 1, -1))
    return tmp_path


@pytest.mark.parametrize("name", ["svr", "one_class", "svdd", "german_squared", "german_hard", "waveform_hard"])
def test_models_meet_their_tolerance_and_agree(name, model_folder, capsys):
    record = model_folder / "models.json"
    entries = [entry for entry in MODELS[name].entries if not entry.startswith("intelex")]
    common = ["--repeats", "1", "--samples", "200", "--n-jobs", "1", "--peers", ",".join(entries)]
    main(["models", "--problems", name, "--data", str(model_folder), "--json", str(record), *common])
    printed = capsys.readouterr().out
    assert f"{name}: 200 x" in printed
    assert "not judged: the bar is for the whole problem" in printed
    (result,) = json.loads(record.read_text())["results"]
    assert [line["peer"] for line in result["lines"]] == entries
    for line in result["lines"]:
        assert line["violation"] < 1.5e-3
        assert line["imbalance"] < 1e-6
        compared = KNOWN[name].entry(line["peer"]).compared
        assert (line["shortfall"] is not None) == compared
        assert not compared or line["shortfall"] < 1e-4
        assert line["notes"] == []


def test_models_leave_out_who_is_slow_or_no_rival(model_folder):
    assert "sklearn" not in choose_peers(KNOWN["svr"], options())
    assert choose_peers(KNOWN["svr"], options(peers=("widemargin", "sklearn", "hinge"))) == ["widemargin", "sklearn"]
    assert choose_peers(KNOWN["german_hard"], options()) == ["widemargin", "hinge"]


@pytest.mark.parametrize("name", ["classes_500", "iris", "madelon", "spambase_precomputed", "shuttle_classes"])
def test_other_kernels_many_classes_and_short_fits_are_certified(name, tmp_path, capsys):
    random = np.random.default_rng(0)
    X = random.normal(size=(90, 5))
    y = (X[:, 0] + 0.5 * random.normal(size=90) > 0).astype(int) + (X[:, 1] > 1)
    for stored in ("iris", "madelon", "spambase", "shuttle"):
        np.savez(tmp_path / f"{stored}.npz", X=X, y=np.minimum(y, 1) if stored in ("madelon", "spambase") else y)
    record = tmp_path / "fit.json"
    common = ["--repeats", "1", "--samples", "80", "--n-jobs", "1", "--peers", "widemargin,sklearn,libsvm"]
    main(["fit", "--problems", name, "--data", str(tmp_path), "--json", str(record), *common])
    assert ("50 calls a run" in capsys.readouterr().out) == (name == "iris")
    (result,) = json.loads(record.read_text())["results"]
    assert [line["peer"] for line in result["lines"]][:2] == ["widemargin", "sklearn"]
    for line in result["lines"]:
        assert line["violation"] < 1.1e-3
        assert line["shortfall"] < 1e-4


def test_a_run_of_many_calls_repeats_fits_and_predicts_in_parts():
    class Counting:
        calls: ClassVar[list[int]] = []

        def prepare(self, X):
            return X

        def fit(self, data, y, settings):
            self.calls.append(len(data))

        def machine(self, model):
            return model

        def predict(self, model, data):
            self.calls.append(len(data))
            return np.zeros(len(data))

    split = PROBLEMS["waveform"].load(None, samples=40)
    split = split._replace(X_test=split.X_test[:7], y_test=split.y_test[:7])
    settings = Settings({"C": 1.0}, 0.05, 1e-3, 1, 200, calls=7)
    fit_task(split, Counting(), settings)()
    assert Counting.calls == [40] * 7
    run = predict_task(split, Counting(), settings)()
    assert Counting.calls == [40] * 8 + [1] * 7
    assert len(run.product) == 7
    job = Job("predict", "single_samples", "widemargin", None, 2)
    assert (job.settings().calls, job.settings().n_jobs) == (500, 1)


def test_fresh_processes_take_turns_and_keep_failures_apart(tmp_path):
    jobs = {
        "good": Job("fit", "waveform", "sklearn", None, 1, samples=100),
        "bad": Job("fit", "banana", "sklearn", tmp_path, 1),
    }
    measured = alternate(jobs, repeats=2, time_limit=60.0, single_above=30.0, fresh=True)
    assert len(measured["good"].runs) == 2
    assert measured["good"].failure is None
    assert measured["bad"].runs == []
    assert "no data set" in measured["bad"].failure
    once = alternate({"good": jobs["good"]}, repeats=2, time_limit=60.0, single_above=0.0, fresh=True)
    assert len(once["good"].runs) == 1


def test_a_run_past_its_time_is_killed():
    jobs = {"slow": Job("fit", "chess_board_10000", "sklearn", None, 1)}
    measured = alternate(jobs, repeats=2, time_limit=0.3, single_above=30.0)
    assert measured["slow"].runs == []
    assert measured["slow"].failure == "not finished after 0.3 s"


def test_missing_data_in_a_process_is_reported(tmp_path):
    job = Job("fit", "banana", "sklearn", tmp_path, 1)
    measured = alternate({"sklearn": job}, repeats=1, time_limit=10.0, single_above=30.0)
    assert "no data set 'raetsch_banana'" in measured["sklearn"].failure


@pytest.mark.parametrize("name", ["widemargin", "sklearn"])
def test_predict_and_gram_tasks(name):
    peer = PEERS[name]
    settings = Settings({"C": 1.0}, 0.05, 1e-3, 1, PROBLEMS["waveform"].peer_cache)
    split = PROBLEMS["waveform"].load(None, samples=200)
    split = split._replace(X_test=split.X_test[:300], y_test=split.y_test[:300])
    run = predict_task(split, peer, settings)()
    assert run.seconds > 0
    assert np.mean(run.product != split.y_test) < 0.2
    assert 0 < gram_task(split, peer, settings)().product < 1e-5


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="peak memory is read from Linux's /proc")
def test_memory_task_sees_what_a_fit_takes():
    class Hungry:
        def prepare(self, X):
            return X

        def fit(self, data, y, settings):
            with mmap(-1, len(data) * MEGABYTE) as room:  # from the system, whatever the allocator has at hand
                return sum(room.write(b"x" * MEGABYTE) for _ in range(len(data)))

    split = PROBLEMS["waveform"].load(None, samples=40)
    run = memory_task(split, Hungry(), Settings({"C": 1.0}, 0.05, 1e-3, 1, 200))()
    assert 35 * MEGABYTE < run.product.growth < 60 * MEGABYTE


@pytest.mark.parametrize(
    ("seconds", "objection", "passed", "text"),
    [
        ({"widemargin": 0.4, "intelex": 2.0, "intelex32": 1.0}, [], True, "0.5 x intelex32 = 0.5 s"),
        ({"widemargin": 0.6, "intelex": 2.0, "intelex32": 1.0}, [], False, "0.5 x intelex32 = 0.5 s"),
        ({"widemargin": 0.6, "intelex": 2.0, "intelex32": None}, [], True, "0.5 x intelex = 1 s"),
        ({"widemargin": 0.1, "intelex": 2.0}, ["stopped early"], False, "stopped early"),
        ({"widemargin": None, "intelex": 2.0}, [], None, "widemargin has no time"),
        ({"widemargin": 0.1, "sklearn": 2.0}, [], None, "no time of intelex or intelex32"),
    ],
)
def test_judge(seconds, objection, passed, text):
    verdict = judge(BAR, seconds, options(), objection)
    assert verdict.passed is passed
    assert text in verdict.reason


def test_judge_refuses_fewer_rows_and_problems_without_bar():
    seconds = {"widemargin": 0.1, "intelex": 2.0}
    assert judge(BAR, seconds, options(samples=10)).passed is None
    assert judge(None, seconds, options()).passed is None


def test_objections_name_early_stops():
    assert objections(FitLine("x", 1.0, (1.0,), violation=1e-3, shortfall=1e-5)) == []
    early = objections(FitLine("x", 1.0, (1.0,), violation=0.17, shortfall=1.8e-3))
    assert len(early) == 2
    assert "0.17" in early[0]
    assert "0.0018" in early[1]


def test_choose_peers_leaves_slow_ones_out_unless_asked():
    connect4 = PROBLEMS["connect4"]
    assert "sklearn" not in choose_peers(connect4, options())
    assert choose_peers(connect4, options(peers=("sklearn",))) == ["sklearn"]
    assert "sklearn" in choose_peers(PROBLEMS["banana"], options())


def test_memory_verdicts():
    lines = (
        MemoryLine("widemargin", "auto", 1.0, 100, 190, 90, 100),
        MemoryLine("widemargin", 40, 2.0, 100, 150, 50, 60),
    )
    assert judge_memory(lines).passed
    assert judge_time(lines).passed
    over = (*lines[:1], MemoryLine("widemargin", 40, 3.5, 100, 170, 70, 60))
    assert judge_memory(over).passed is False
    assert judge_time(over).passed is False
    assert judge_memory(()).passed is None
    assert judge_time(lines[:1]).passed is None
    result = MemoryResult("a9a", 100, over, judge_memory(over), judge_time(over))
    assert "peak FAIL" in result.table()
    assert [verdict.passed for verdict in result.verdicts().values()] == [False, False]


def test_measurement_takes_the_median_and_keeps_notes():
    measured = Measurement([Run(3.0, None, ("slow",)), Run(1.0, None, ("slow",)), Run(2.0, None)], "gave up")
    assert measured.seconds == 2.0
    assert measured.notes == ["gave up", "slow"]
    assert Measurement().seconds is None


def test_settings_give_everybody_but_widemargin_the_problems_cache():
    assert Job("fit", "connect4", "widemargin", None, 2).settings().cache == "auto"
    assert Job("fit", "connect4", "intelex", None, 2).settings().cache == 2_000
    assert Job("memory", "a9a", "widemargin", None, 2, cache=40).settings().cache == 40
    hinge = Job("fit", "german_squared", "hinge", None, 2)
    assert hinge.settings().cache == "auto"
    assert hinge.peer is PEERS["widemargin"]
    assert hinge.settings().parameters == {"C": 1}
    assert Job("fit", "svdd", "sklearn", None, 2).settings().estimator == "OneClassSVM"


@pytest.mark.parametrize("bad", [["--problems", "bananas"], ["--peers", "nobody"], ["--repeats", "0"]])
def test_bad_options_are_refused(bad, capsys):
    with pytest.raises(SystemExit):
        main(["fit", *bad])
    assert bad[0] in capsys.readouterr().err


@pytest.mark.parametrize(("command", "problem"), [("fit", "svr"), ("models", "letter")])
def test_commands_know_their_own_problems(command, problem, capsys):
    with pytest.raises(SystemExit):
        main([command, "--problems", problem])
    assert f"no problem '{problem}'" in capsys.readouterr().err


def test_render_aligns():
    assert render(["name", "n"], [["a", "10"], ["long one", "1"]]) == "name       n\na         10\nlong one   1"
