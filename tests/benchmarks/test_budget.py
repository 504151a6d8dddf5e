import numpy as np
import pytest

from benchmarks.quality import budget
from benchmarks.quality.__main__ import main
from benchmarks.quality.streams import STREAMS


@pytest.fixture
def folder(tmp_path):
    """A folder with some made-up rows of two of the sets: noisy numbers of three classes, and columns of 0 and 1."""
    random = np.random.default_rng(0)
    X = random.normal(size=(1800, 4))
    y = np.where(random.random(1800) < 0.2, random.integers(3, size=1800), np.argmax(X[:, :3], axis=1))
    np.savez(tmp_path / "satimage.npz", X=X, y=np.array([1, 4, 7])[y])
    X = random.integers(2, size=(900, 12))
    np.savez(tmp_path / "phishing.npz", X=X, y=np.where(X[:, :5].sum(axis=1) > 2, 1, -1))
    return tmp_path


def test_the_table_is_printed_and_the_bar_is_met(folder, capsys, monkeypatch):
    monkeypatch.setattr(budget, "BEHIND", 0.03)  # two seeds, and few samples
    streams = "satimage,satimage_class_4,phishing,turning_plane,letter"
    common = ["--data", str(folder), "--samples", "1000", "--seeds", "2", "--budgets", "40,100"]
    main(["budget", "--streams", streams, *common])
    printed = capsys.readouterr().out
    assert "letter: skipped." in printed
    rows = {line.split()[0]: line.split()[1:] for line in printed.splitlines() if ": " not in line}
    assert list(rows) == ["stream", "satimage", "satimage_class_4", "phishing", "turning_plane"]
    for name, cells in rows.items():
        assert name == "stream" or (len(cells) == 6 and all(0.2 < float(cell) <= 1 for cell in cells))
    assert printed.count("pass: ") == 2


def test_a_missed_bar_ends_with_status_1(monkeypatch, capsys):
    monkeypatch.setattr(budget, "BEHIND", -1.0)
    with pytest.raises(SystemExit) as ended:
        main(["budget", "--streams", "turning_crescents", "--samples", "300", "--seeds", "1", "--budgets", "30"])
    assert ended.value.code == 1
    assert "FAIL: 30 samples" in capsys.readouterr().out


def test_verdicts_look_at_the_mean_and_at_the_worst():
    good = {("window", 50): [0.7, 0.9], ("budget", 50): [0.8, 1.0]}
    little = {("window", 50): [0.8], ("budget", 50): [0.795]}
    much = {("window", 50): [0.8], ("budget", 50): [0.78]}
    assert budget.verdicts({"a": good, "b": little}, [50])[1]
    assert not budget.verdicts({"a": good, "b": much}, [50])[1]
    assert not budget.verdicts({"b": little}, [50])[1]
    assert "on b" in budget.verdicts({"a": good, "b": much}, [50])[0][0]


@pytest.mark.parametrize("name", ["turning_crescents", "turning_plane", "jumping_plane"])
def test_streams_drift_and_follow_from_their_seed(name):
    stream, again, other = (STREAMS[name](None, 2_000, seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(stream.X, again.X)
    assert (stream.X != other.X).any()
    assert stream.X_test is None

    def agree(begin, end):
        """How often what is next to a sample, of some that come later, has its class."""
        first, later = slice(0, 300), slice(begin, end)
        distances = ((stream.X[first, None] - stream.X[None, later]) ** 2).sum(axis=2)
        np.fill_diagonal(distances[:, : 300 if begin == 0 else 0], np.inf)
        return np.mean(stream.y[first] == stream.y[later][distances.argmin(axis=1)])

    assert agree(0, 300) > agree(1_700, 2_000) + 0.1


def test_public_streams_hold_samples_out(folder):
    stream = STREAMS["satimage_class_4"](folder, 1_000, 0)
    assert (len(stream.X), len(stream.X_test)) == (1_000, 600)
    assert stream.classes.tolist() == [-1, 1]
    np.testing.assert_allclose(stream.X.mean(axis=0), 0.0, atol=1e-12)
    assert set(np.unique(STREAMS["phishing"](folder, 1_000, 0).X)) == {0.0, 1.0}
    together = np.concatenate([stream.X, stream.X_test])
    assert len(np.unique(together, axis=0)) == 1_600


@pytest.mark.parametrize("bad", [["--streams", "satimages"], ["--budgets", "50,0"], ["--C", "-1"]])
def test_bad_options_are_refused(bad, capsys):
    with pytest.raises(SystemExit):
        main(["budget", *bad])
    assert bad[0] in capsys.readouterr().err
