"""Parameters of a run: flat, complete, and without secrets."""

from collections.abc import Callable
from typing import Any

import pytest

from rltrain_trainer.tracking.parameters import run_parameters, without_credentials

MakeRun = Callable[..., Any]


def test_parameters_are_flat_and_have_defaults(make_run: MakeRun) -> None:
    _, job = make_run(training={"learningRate": 1e-4})
    parameters = run_parameters(job)
    assert parameters["training.learningRate"] == 1e-4
    assert parameters["rollout.samplesPerPrompt"] == 8
    assert parameters["reward.functions.0.type"] == "exact"
    assert parameters["tracking.logger"] == ["console", "tensorboard", "mlflow"]
    assert not any(key.startswith(("runtime", "cluster", "storage")) for key in parameters)


@pytest.mark.parametrize(
    ("name", "hidden"),
    [
        ("apiKey", True),
        ("hf_token", True),
        ("password", True),
        ("judge-secret", True),
        ("maxNewTokens", False),
        ("promptKey", False),
        ("tokenizer", False),
    ],
)
def test_free_parameters_named_like_secrets_are_hidden(make_run: MakeRun, name: str, hidden: bool) -> None:
    _, job = make_run()
    source = {"type": "reasoningGym", "reasoningGym": {"task": "chain_sum", "parameters": {name: "value"}}}
    content = job.model_dump(mode="json", by_alias=True, exclude_unset=True)
    content["spec"]["data"]["train"] = source
    parameters = run_parameters(type(job).model_validate(content))
    assert parameters[f"data.train.reasoningGym.parameters.{name}"] == ("(hidden)" if hidden else "value")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://user:pass@host:5000/path?a=b", "https://host:5000/path?a=b"),
        ("http://host/path", "http://host/path"),
        ("mail@host", "mail@host"),
    ],
)
def test_addresses_lose_user_and_password(text: str, expected: str) -> None:
    assert without_credentials(text) == expected
