"""From files and overrides to a job: what is read, and every message about what cannot be."""

from pathlib import Path

import pytest
import yaml

from rltrain_api.load import dump_job, load_job
from rltrain_api.problems import ManifestError

MINIMAL = """\
apiVersion: rltrain.io/v1alpha1
kind: RLTrainingJob
metadata: {name: copy}
spec:
  model: {path: builtin:tiny-llama}
  data:
    train: {type: digits, digits: {task: copy}}
  algorithm: {type: grpo}
  training: {totalSteps: 10}
  reward: {functions: [{type: exact}]}
"""


def manifest(directory: Path, text: str = MINIMAL) -> Path:
    path = directory / "job.yaml"
    path.write_text(text)
    return path


def problems(path: Path, *overrides: str) -> list[str]:
    with pytest.raises(ManifestError) as caught:
        load_job(path, overrides)
    return [str(problem) for problem in caught.value.problems]


def test_a_minimal_manifest_gets_the_documented_defaults(tmp_path: Path) -> None:
    spec = load_job(manifest(tmp_path)).spec
    assert spec.tracking.logger == ["console", "tensorboard", "mlflow"]
    assert (spec.rollout.samples_per_prompt, spec.training.batch_size) == (8, 16)
    assert (spec.run_policy.backoff_limit, spec.dashboards.keep_for) == (3, "1h")


def test_dump_and_load_are_inverse_and_leave_defaults_out(tmp_path: Path) -> None:
    job = load_job(manifest(tmp_path), ["rollout.async=false", "training.learning_rate=1e-3"])
    again = load_job(manifest(tmp_path, dump_job(job)))
    assert again == job
    assert yaml.safe_load(dump_job(job))["spec"]["training"] == {"totalSteps": 10, "learningRate": 0.001}


@pytest.mark.parametrize(
    ("override", "field", "want"),
    [
        ("training.batch_size=32", ("training", "batch_size"), 32),
        ("training.batchSize=32", ("training", "batch_size"), 32),
        ("spec.training.batchSize=32", ("training", "batch_size"), 32),
        ("+training.batch_size=32", ("training", "batch_size"), 32),
        ("training.learning_rate=1e-4", ("training", "learning_rate"), 1e-4),
        ("training.deterministic=true", ("training", "deterministic"), True),
        ("training.checkpoint_every=0", ("training", "checkpoint_every"), 0),
        ("tracking.experiment_name=007", ("tracking", "experiment_name"), "007"),
        ("tracking.experiment_name='a b'", ("tracking", "experiment_name"), "a b"),
        ("tracking.experiment_name=null", ("tracking", "experiment_name"), None),
        ('trainer.logger=["console","mlflow"]', ("tracking", "logger"), ["console", "mlflow"]),
        ("tracking.logger=[console]", ("tracking", "logger"), ["console"]),
        ("trainer.project_name=maths", ("tracking", "project_name"), "maths"),
        ("trainer.experiment_name=one", ("tracking", "experiment_name"), "one"),
        ("rollout.stop=['\\n', '###']", ("rollout", "stop"), ["\\n", "###"]),
        ("rollout.async=true", ("rollout", "async_"), True),
    ],
)
def test_an_override_reaches_its_field_with_its_type(
    tmp_path: Path, override: str, field: tuple[str, str], want: object
) -> None:
    spec = load_job(manifest(tmp_path), [override]).spec
    assert getattr(getattr(spec, field[0]), field[1]) == want


def test_overrides_reach_into_unions_lists_and_free_parameters(tmp_path: Path) -> None:
    overrides = [
        "algorithm.grpo.clip_range_low=0.1",
        "reward.functions.0.weight=2",
        "data.train={type: reasoningGym, reasoningGym: {task: chain_sum}}",
        "data.train.reasoning_gym.parameters.num_terms=3",
        "actor_rollout_ref.rollout.trace.backend=mlflow",
        "actor_rollout_ref.rollout.trace.max_samples=5",
        "metadata.name=other",
    ]
    job = load_job(manifest(tmp_path), overrides)
    spec = job.spec
    assert spec.algorithm.grpo and spec.algorithm.grpo.clip_range_low == 0.1
    assert spec.reward.functions[0].weight == 2
    assert spec.data.train.reasoning_gym and spec.data.train.reasoning_gym.parameters == {"num_terms": 3}
    assert spec.tracking.trace and (spec.tracking.trace.backend, spec.tracking.trace.max_samples) == ("mlflow", 5)
    assert job.metadata.name == "other"


BAD_OVERRIDES = [
    ("training.batchsize=3", "training.batchsize: unknown field `batchsize`; did you mean `batchSize`?"),
    ("trainin.batchSize=3", "trainin.batchSize: unknown field `trainin`; did you mean `training`?"),
    ("nonsense", "nonsense: is not an override; write it as `field.path=value`"),
    ("reward.functions.3.weight=1", "reward.functions.3.weight: the list has no entry 3"),
    ("model.path.x=1", "model.path.x: `x` is not inside a mapping of fields"),
    ("tracking.logger=[console", "tracking.logger: the value '[console' is not YAML; quote it"),
    (
        "training.total_steps=many",
        "spec.training.totalSteps: input should be a valid integer, unable to parse string as an integer, "
        "not 'many'",
    ),
    (
        "training.total_steps=0",
        "spec.training.totalSteps: input should be greater than or equal to 1, not 0",
    ),
    (
        "training.precision=fp8",
        "spec.training.precision: must be `fp32` or `bf16`, not 'fp8'",
    ),
    (
        "algorithm.ppo.clip_range=0.2",
        "line 8: spec.algorithm: only the sub-object that `type` names may be given (of grpo, ppo, dpo, kto, custom); "
        "remove the others or change `type`",
    ),
    (
        "training.validate_every=5",
        "line 4: spec: `training.validateEvery` needs prompts; add `data.validation` or set it to 0",
    ),
    (
        "rollout.samples_per_prompt=1",
        "line 4: spec: `rollout.samplesPerPrompt` must be at least 2 for grpo: a group of one has no advantage",
    ),
    (
        "training.minibatches=1000",
        "line 4: spec: `training.minibatches` must not exceed the samples of a step, batchSize x samplesPerPrompt",
    ),
    ("metadata.name=Bad_Name", "metadata.name: 'Bad_Name' does not have the form ^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"),
    ("tracking.logger=[console, console]", "line 4: spec.tracking: `logger` names a tracker twice; name each once"),
    (
        "tracking.logger=[tensorbord]",
        "spec.tracking.logger[0]: must be `console`, `tensorboard`, `mlflow`, `wandb` or `swanlab`, not 'tensorbord'",
    ),
    ("reward.functions=[]", "line 10: spec.reward: no reward is given; add one to `functions`, such as `{type: exact}`, or a `model`"),
    (
        "reward.functions=[{type: exact}, {type: exact}]",
        "line 10: spec.reward: two reward functions have the same name; give one of them another `name`",
    ),
    (
        "reward.functions=[{type: pattern}]",
        "spec.reward.functions[0]: `type` names a function that needs its sub-object; add it, such as `pattern: {regex: …}`",
    ),
    (
        "data.train={type: file}",
        "spec.data.train: the sub-object that `type` names is missing; add it, such as `type: file` with `file: {path: …}`",
    ),
    (
        "tracking.mlflow.uri=https://ana:secret@mlflow.example",
        "spec.tracking.mlflow: `uri` holds a user name or password; put it into a Secret or the environment",
    ),
    ("training.lr_warmup_steps=10", "line 9: spec.training: `lrWarmupSteps` must be less than `totalSteps`"),
    ("model=builtin:tiny-llama", "spec.model: must be a mapping of fields, not 'builtin:tiny-llama'"),
]  # fmt: skip


@pytest.mark.parametrize(("override", "message"), BAD_OVERRIDES)
def test_a_bad_value_is_one_problem_with_its_place_and_remedy(tmp_path: Path, override: str, message: str) -> None:
    assert problems(manifest(tmp_path), override) == [message]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("totalSteps: 10", "total_steps: 10", "line 9: spec.training.total_steps: unknown field; did you mean `totalSteps`?"),
        ("algorithm: {type: grpo}", "algoritm: {type: grpo}", "line 8: spec.algoritm: unknown field; did you mean `algorithm`?"),
        ("kind: RLTrainingJob", "kind: Job", "line 2: kind: must be `RLTrainingJob`, not 'Job'"),
        ("v1alpha1", "v1", "line 1: apiVersion: must be `rltrain.io/v1alpha1`, not 'rltrain.io/v1'"),
        ("{totalSteps: 10}", "{totalSteps: 10, totalSteps: 11}", "line 9: the field `totalSteps` is given twice; keep one"),
        ("  model: {path", "  model: path", "line 5: mapping values are not allowed here"),
    ],
)  # fmt: skip
def test_a_wrong_manifest_names_line_field_and_remedy(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in MINIMAL
    assert message in problems(manifest(tmp_path, MINIMAL.replace(old, new)))


def test_all_problems_are_told_at_once(tmp_path: Path) -> None:
    text = MINIMAL.replace("totalSteps: 10", "learningRate: -1").replace("task: copy", "task: cpoy")
    found = problems(manifest(tmp_path, text), "tracking.loger=[]")
    assert [message.partition(":")[0] for message in found] == ["tracking.loger", "line 7", "line 9", "line 9"]
    assert found[2] == "line 9: spec.training.totalSteps: is required; add it"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[]", "is not an RLTrainingJob: the file must hold one mapping with apiVersion, kind, metadata and spec"),
        (b"", "is not an RLTrainingJob: the file must hold one mapping with apiVersion, kind, metadata and spec"),
        (b"\xff\xfe", "cannot be read: 'utf-8' codec can't decode byte 0xff in position 0: invalid start byte"),
    ],
)
def test_a_file_that_is_no_manifest_is_said_to_be_none(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "job.yaml"
    path.write_bytes(content)
    assert problems(path) == [message]


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ManifestError, match=r"absent\.yaml cannot run:\n  - cannot be read: .*No such file"):
        load_job(tmp_path / "absent.yaml")
