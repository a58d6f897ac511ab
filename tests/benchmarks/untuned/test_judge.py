from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import overcast as oc
from untuned import judge as judging
from untuned.judge import Job, covered, judge, main
from untuned.problems import Problem, known
from untuned.report import Row

ARMS, PRICES = (next(p for p in known() if p.name == name) for name in ("10 arms", "prices"))


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Judge two problems over thirty rounds."""
    few = [replace(ARMS, steps=30), replace(PRICES, steps=30)]
    monkeypatch.setattr(judging, "problems", lambda part: few)


@pytest.mark.usefixtures("short")
def test_a_run_from_end_to_end_which_resumes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ["--part", "known", "--trials", "4", "--workers", "1", "--out", str(tmp_path / "out")]
    kept = tmp_path / "results.json"
    assert main([*options, "--keep", str(kept)]) == 0
    first = capsys.readouterr().out
    assert "known: 3 runs, 3 to compute" in first
    assert "10 arms · both" in first
    assert (tmp_path / "out" / "known-ucb.png").stat().st_size > 0
    part = json.loads(kept.read_text(encoding="utf-8"))["ucb"]["known"]
    assert {(row["name"], row["setting"]) for row in part["problems"]} == {
        ("10 arms", "both"),
        ("prices", "hidden"),
        ("prices", "observed"),
    }
    for row in part["problems"]:
        assert set(row["ratios"]) == {"own", "standard", "strict"}
        low, high = row["ratios"]["own"]["30"][1:]
        assert low <= row["ratios"]["own"]["30"][0] <= high
        assert 0.0 <= row["coverage"]["30"][0] <= 1.0

    monkeypatch.setattr(oc, "simulate", lambda *_, **__: pytest.fail("nothing is left to compute"))
    assert main(options) == 0
    assert "3 runs, 0 to compute" in capsys.readouterr().out


@pytest.mark.usefixtures("short")
def test_a_failure_is_reported_and_the_rest_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def work(job: Job) -> Row:
        if job.problem.name == "prices":
            raise ValueError("no prices")
        return judge(job)

    monkeypatch.setattr(judging, "judge", work)
    assert main(["--part", "known", "--trials", "4", "--workers", "1", "--out", str(tmp_path)]) == 1
    said = capsys.readouterr().out
    assert "FAILED: ValueError: no prices" in said
    assert "10 arms · both" in said


def test_the_same_beta_is_judged_on_the_trials_of_the_default(tmp_path: Path) -> None:
    """The opponent's regret is that of the paper's UCB with the beta chosen, on the judged seed."""
    problem = replace(ARMS, steps=30)
    job = Job(problem, "hidden", "ucb", 4, tmp_path)
    row = judge(job)
    found = json.loads(job.path("opponents").read_text(encoding="utf-8"))["own"]["30"]
    assert found["beta"] == row.betas["own"]["30"]
    policy = oc.UCB(found["beta"])
    runs = oc.simulate(problem, problem.model(1.0), policy, steps=30, trials=4, seed=judging.JUDGING_SEED)
    np.testing.assert_allclose(found["regret"], runs.expected_regret[:, -1], rtol=1e-5)


@pytest.mark.parametrize("policy", ["thompson", "ids", "mostly-greedy"])
def test_other_policies_are_judged_against_themselves(policy: str, tmp_path: Path) -> None:
    """The opponent is the same policy with a ridge of one and a number of its grid, on the judged seed."""
    problem = replace(PRICES, steps=30)
    job = Job(problem, "hidden", policy, 4, tmp_path)
    row = judge(job)
    assert set(row.ratios) == {"own", "standard"}
    assert not row.coverage
    found = json.loads(job.opponents.read_text(encoding="utf-8"))["own"]["30"]
    assert found["beta"] in judging.GRIDS[policy]
    own = judging.POLICIES[policy](found["beta"])
    runs = oc.simulate(problem, problem.model(1.0), own, steps=30, trials=4, seed=judging.JUDGING_SEED)
    np.testing.assert_allclose(found["regret"], runs.expected_regret[:, -1], rtol=1e-5)


@pytest.mark.usefixtures("short")
def test_some_problems_in_one_setting_are_kept_beside_the_whole_part(tmp_path: Path) -> None:
    kept = tmp_path / "results.json"
    options = ["--part", "known", "--trials", "4", "--workers", "1", "--out", str(tmp_path), "--keep", str(kept)]
    assert main([*options, "--only", "prices", "--setting", "hidden", "--regret-only"]) == 0
    found = json.loads(kept.read_text(encoding="utf-8"))["ucb"]
    assert set(found) == {"known: prices"}
    (row,) = found["known: prices"]["problems"]
    assert (row["name"], row["setting"], row["coverage"]) == ("prices", "hidden", {})
    assert {score["setting"] for score in found["known: prices"]["scores"]} == {"hidden"}


def test_the_file_of_a_job_depends_on_its_problem(tmp_path: Path) -> None:
    def path(problem: Problem, trials: int = 4) -> Path:
        return Job(problem, "hidden", "ucb", trials, tmp_path).path("opponents")

    assert path(ARMS) == path(replace(ARMS))
    assert len({path(ARMS), path(replace(ARMS, noise=0.3)), path(ARMS, 5)}) == 3


def test_coverage_is_the_share_of_actions() -> None:
    truth, mean, width = np.zeros((2, 4)), np.array([[0.0, 1.0, 2.0, 3.0], [0.0] * 4]), np.ones((2, 4))
    assert [share.tolist() for share in covered([truth], [(mean, width)])] == [[0.5, 1.0]]
