import pytest

from jarf import __version__
from jarf.cli import main


def test_demo_prints_a_table(capsys):
    assert main(["demo", "--rows", "200", "--trees", "10", "--repeats", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    heads = [
        "angle",
        "RF",
        "JARF",
        "JF",
        "JB",
        "JARF",
        "gain",
        "JARF",
        "time",
        "JF",
        "gain",
        "JF",
        "time",
        "JB",
        "gain",
        "JB",
        "time",
    ]
    header = next(i for i, line in enumerate(lines) if line.split() == heads)
    assert "JF    JacobianForestClassifier, the forest we recommend" in lines[:header]
    table = [line.split() for line in lines[header + 1 :]]
    assert [row[0] for row in table] == ["0", "15", "30", "45", "60"]
    for row in table:
        _, rf, jarf, jf, jb, jarf_gain, _, jf_gain, _, jb_gain, _ = map(float, row)
        assert jarf - rf == pytest.approx(jarf_gain, abs=0.0021)
        assert jf - rf == pytest.approx(jf_gain, abs=0.0021)
        assert jb - rf == pytest.approx(jb_gain, abs=0.0021)


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
