import re

from jarf._progress import Stages


def test_every_run_of_a_stage_shows_its_own_time_and_all_are_added(capsys, monkeypatch):
    clock = iter([0.0, 3.0, 10.0, 11.0])
    monkeypatch.setattr("jarf._progress.time.perf_counter", lambda: next(clock))
    stages = Stages("Forest", 1)
    for _ in range(2):
        with stages.stage("gradients"):
            pass
    shown = re.findall(r"\[Forest\] gradients: (\S+) s", capsys.readouterr().err)
    assert shown == ["3.00", "1.00"]
    assert stages.times == {"gradients": 4.0}
