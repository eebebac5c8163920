import numpy as np
import pytest

from jarf import __version__
from jarf.cli import main


def test_demo_prints_a_table(capsys):
    assert main(["demo", "--rows", "200", "--trees", "10", "--repeats", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith("10 trees, one seed.")
    heads = ["angle", "RF", "JF", "JB", "JARF", "JF", "time", "JB", "time", "JARF", "time"]
    header = next(i for i, line in enumerate(lines) if line.split() == heads)
    recommended = [line.split()[0] for line in lines[:header] if line.endswith(", recommended")]
    assert recommended == ["JF", "JB"]
    table = [line.split() for line in lines[header + 1 :]]
    assert [row[0] for row in table] == ["0", "15", "30", "45", "60"]
    for row in table:
        kappas, times = np.array(row[1:5], float), np.array(row[5:], float)
        assert (kappas > 0.4).all()
        assert (times > 0).all()


def test_errors_are_one_line(capsys):
    assert main(["demo", "--features", "1"]) == 1
    assert main(["demo", "--rows", "0"]) == 1
    assert capsys.readouterr().err.splitlines() == [
        "jarf: n_features must be at least 2, got 1.",
        "jarf: --rows must be at least 1.",
    ]


def test_interrupt_is_quiet(monkeypatch, capsys):
    def interrupted(arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("jarf.cli._demo.run", interrupted)
    assert main(["demo"]) == 130
    assert "interrupted" in capsys.readouterr().err


def test_version_and_usage(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert stop.value.code == 0
    assert __version__ in capsys.readouterr().out
    with pytest.raises(SystemExit) as stop:
        main(["demo", "--nope"])
    assert stop.value.code == 2
