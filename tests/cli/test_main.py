import subprocess
import sys

import pytest

from jarf.cli import main


def test_without_a_command_the_commands_are_listed(capsys):
    assert main([]) == 0
    out = capsys.readouterr().out
    for name in ("demo", "compare", "reproduce", "report"):
        assert f"\n    {name}" in out
    assert "jarf compare data.csv --target NAME" in out


def test_an_unknown_command_is_an_error(capsys):
    with pytest.raises(SystemExit):
        main(["nope"])
    assert "invalid choice: 'nope'" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["reproduce", "--list"], ["--help"]])
def test_a_closed_pipe_is_not_an_error(command):
    run = [sys.executable, "-m", "jarf.cli", *command]
    with subprocess.Popen(run, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()  # as `| head -0` does
        errors = process.stderr.read().decode()
        assert process.wait() in (0, 141)
    assert errors == ""
