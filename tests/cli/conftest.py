import signal
import subprocess
import sys
import time

import pytest


def take_interrupts():
    """Undo what a shell does to jobs in the background: they ignore Ctrl-C."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def interrupt():
    """Run a command, press Ctrl-C once its results folder has two rows, and wait for its end."""

    def run(arguments, out):
        process = subprocess.Popen(
            [sys.executable, "-m", "jarf.cli", *arguments],
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=take_interrupts,
        )
        deadline = time.monotonic() + 600
        path = out / "rows.jsonl"
        while not (path.is_file() and path.read_bytes().count(b"\n") >= 2):
            assert time.monotonic() < deadline
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        error = process.communicate(timeout=600)[1]
        assert process.returncode == 130
        assert "run the same command to resume" in error
        assert "Traceback" not in error

    return run
