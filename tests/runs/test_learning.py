"""That training learns: the digit-copying task, by a reward function of the user's own, after a short warm start."""

from pathlib import Path

from tests.runs.harness import Starter, first_values

REWARD = '''
def place_by_place(responses, answers, log, bonus):
    """Share of characters that are right in their place; logs how many responses are right as a whole."""
    right = [response == answer for response, answer in zip(responses, answers)]
    log("exact", sum(right) / len(right))
    return [bonus * ok + sum(map(str.__eq__, r, a)) / max(len(r), len(a), 1) for ok, r, a in zip(right, responses, answers)]
'''


def test_copying_a_digit_is_learnt_to_95_percent_by_a_function_of_the_users(starter: Starter) -> None:
    Path(starter.directory / "rewards.py").write_text(REWARD)
    custom = {"function": "rewards.py:place_by_place", "parameters": {"bonus": 0.0}}
    manifest = starter.manifest(
        {
            "algorithm": {"grpo": {"klCoefficient": 0.0}},
            "training": {
                "totalSteps": 120,
                "lrSchedule": "linear",
                "warmStart": {"steps": 25},
                "batchSize": 16,
                "deterministic": False,
                "validateEvery": 60,
                "checkpointEvery": 0,
            },
            "rollout": {"samplesPerPrompt": 16},
            "reward": {"functions": [{"type": "custom", "custom": custom}]},
        }
    )
    run = starter.run(manifest, "--no-dashboards")
    assert run.process.returncode == 0, run.output
    values = first_values(run.directory())
    assert values["reward/episode_reward_mean", 1] < 0.6
    last = [values["reward/episode_reward_mean", step] for step in range(111, 121)]
    assert sum(last) / len(last) >= 0.95
    assert values["validation/reward_mean", 120] >= 0.95
    assert values["reward/place_by_place/exact", 120] >= 0.95
    assert (run.directory().checkpoints / "best").exists()
