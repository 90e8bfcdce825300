"""What is logged of a step: metrics, histograms and samples. Called by the training loop."""

from rltrain_trainer.algorithms.advantages import groups_without_signal
from rltrain_trainer.log.writer import RunLog
from rltrain_trainer.rollouts import Rollout
from rltrain_trainer.tracking import metric_names

SAMPLE_COLUMNS = ["prompt", "response", "answer", "reward"]


def rollout_metrics(rollout: Rollout, group_size: int) -> dict[str, float]:
    """Rewards and lengths of a step's rollout."""
    import torch

    rewards, lengths = rollout.scores.total, rollout.lengths
    unfinished = [not completion.finished for completion in rollout.completions]
    return {
        metric_names.REWARD_MEAN: float(rewards.mean()),
        metric_names.REWARD_STD: float(rewards.std()),
        metric_names.RESPONSE_LENGTH_MEAN: float(lengths.mean()),
        metric_names.RESPONSE_LENGTH_MAX: float(lengths.max()),
        metric_names.RESPONSE_LENGTH_CLIP_RATIO: sum(unfinished) / len(unfinished),
        metric_names.GROUPS_WITHOUT_SIGNAL: groups_without_signal(torch.from_numpy(rewards), group_size),
        **rollout.scores.metrics,
    }


def throughput_metrics(rollout: Rollout, seconds: dict[str, float]) -> dict[str, float]:
    """Speed of a step from the seconds of its phases; throughputs of generation count samples and response tokens."""
    generate, total = seconds["generate"], sum(seconds.values())
    return {
        metric_names.ROLLOUTS_PER_SECOND: len(rollout.completions) / generate,
        metric_names.TOKENS_PER_SECOND: float(rollout.lengths.sum()) / generate,
        metric_names.STEPS_PER_SECOND: 1 / total,
        **{f"time/{phase}_seconds": value for phase, value in seconds.items()},
    }


def log_rollout(log: RunLog, rollout: Rollout, step: int, samples: int) -> None:
    """Distributions of a step's rollout and its first `samples` samples."""
    log.histogram(step, metric_names.REWARD_DISTRIBUTION, rollout.scores.total)
    log.histogram(step, metric_names.RESPONSE_LENGTH_DISTRIBUTION, rollout.lengths)
    _log_samples(log, metric_names.SAMPLES, rollout, step, samples)


def log_validation(log: RunLog, rollout: Rollout, step: int, samples: int) -> None:
    """Rewards of the held-out prompts at `step`, and the first `samples` of their responses."""
    terms = {f"validation/{name}_mean": float(values.mean()) for name, values in rollout.scores.terms.items()}
    metrics = {
        metric_names.VALIDATION_REWARD_MEAN: float(rollout.scores.total.mean()),
        metric_names.VALIDATION_LENGTH_MEAN: float(rollout.lengths.mean()),
    }
    log.scalars(step, terms | metrics)
    _log_samples(log, metric_names.VALIDATION_SAMPLES, rollout, step, samples)


def _log_samples(log: RunLog, name: str, rollout: Rollout, step: int, count: int) -> None:
    """The first `count` prompts and responses as a table called `name`."""
    rows = zip(rollout.prompts, rollout.completions, rollout.scores.total, strict=True)
    table = [[p.text, c.text, p.prompt.answer or "", float(reward)] for p, c, reward in list(rows)[:count]]
    if table:
        log.table(step, name, SAMPLE_COLUMNS, table)
