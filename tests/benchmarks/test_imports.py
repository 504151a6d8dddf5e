import json

import pytest

from benchmarks.peers.__main__ import main
from benchmarks.peers.imports import STATEMENTS, judge, processor_seconds


def test_processor_time_is_that_of_the_statement():
    idle = processor_seconds("import time; time.sleep(0.3)")
    busy = processor_seconds("import time\nwhile time.process_time() < 1: pass")
    assert busy - idle > 0.5
    assert busy >= 1


def test_statements_that_fail_are_not_timed():
    with pytest.raises(Exception, match="non-zero exit status"):
        processor_seconds("import no_such_module")


@pytest.mark.parametrize(
    ("seconds", "passed"),
    [
        ({"package": 1.0, "names": 1.09, "help": 0.29, "scikit-learn": 1.0}, [True, True, True]),
        ({"package": 1.2, "names": 1.05, "help": 0.31, "scikit-learn": 1.0}, [False, True, False]),
        ({"names": 1.0}, [None]),
    ],
)
def test_bars_are_relative_to_scikit_learn_and_help_is_quick(seconds, passed):
    assert [verdict.passed for verdict in judge(seconds).values()] == passed


def test_the_command_prints_and_records(tmp_path, capsys):
    record = tmp_path / "import.json"
    main(["import", "--problems", "package,help", "--repeats", "1", "--json", str(record)])
    printed = capsys.readouterr().out
    assert "import widemargin" in printed
    assert "package  not judged: no time of scikit-learn" in printed
    (result,) = json.loads(record.read_text())["results"]
    assert result["seconds"].keys() == {"package", "help"}
    assert set(STATEMENTS) == {"package", "names", "help", "scikit-learn"}


def test_options_without_effect_are_refused(capsys):
    with pytest.raises(SystemExit):
        main(["import", "--n-jobs", "2"])
    assert "--n-jobs" in capsys.readouterr().err
