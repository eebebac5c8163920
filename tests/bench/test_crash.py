"""The store survives kills; for 200 of them: ``python tests/bench/crash_store.py --kills 200``."""

import subprocess
import sys
from pathlib import Path

import pytest

HARNESS = Path(__file__).with_name("crash_store.py")


@pytest.mark.parametrize("options", [[], ["--compare"]], ids=["reproduce", "compare"])
def test_killed_runs_end_as_if_nothing_had_happened(options):
    pytest.importorskip("fcntl")  # a start is a fork
    command = [sys.executable, str(HARNESS), "--kills", "8", *options]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("8 kills")
