"""A reward function of the user's own, given what it asks for by the names of its parameters. Made by the scorer."""

import inspect
import math
import traceback
from collections.abc import Callable, Iterable
from typing import Any

from rltrain_api.errors import UserError
from rltrain_api.problems import nearest
from rltrain_api.reward import CustomReward
from rltrain_trainer.rewards.types import Log, Reward, RewardBatch

_OFFERED = ("prompts", "responses", "answers", "columns", "step", "log")


def make_custom(spec: CustomReward, function: Callable[..., Any]) -> Reward:
    """`function` as a reward. Raises UserError if it cannot take the parameters of `spec`."""
    name = spec.function
    asked = _asked_for(name, function)
    _check_parameters(spec, function, asked)
    columns = {key: p for key, p in asked.items() if key not in _OFFERED and key not in spec.parameters}

    def custom(batch: RewardBatch, log: Log) -> list[float]:
        offered = {key: log if key == "log" else getattr(batch, key) for key in _OFFERED if key in asked}
        arguments = offered | spec.parameters | _column_values(name, columns, batch)
        try:
            returned = function(**arguments)
        except (Exception, SystemExit) as error:  # `sys.exit` in a reward must not pass for the run's own end
            trace = "".join(traceback.format_exception(error)).rstrip()
            raise UserError(f"reward function `{name}` failed at step {batch.step}:\n{trace}") from error
        return _checked(name, returned, batch.responses)

    return custom


def _asked_for(name: str, function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """The parameters that are passed by name."""
    parameters = inspect.signature(function).parameters
    for parameter in parameters.values():
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise UserError(f"reward function `{name}`: `{parameter.name}` must not be positional-only; remove the `/`")
    by_name = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return {key: parameter for key, parameter in parameters.items() if parameter.kind in by_name}


def _check_parameters(spec: CustomReward, function: Callable[..., Any], asked: dict[str, inspect.Parameter]) -> None:
    kinds = {parameter.kind for parameter in inspect.signature(function).parameters.values()}
    for given in spec.parameters:
        if given in _OFFERED:
            raise UserError(f"reward function `{spec.function}`: `{given}` is always the batch's; rename the parameter")
        if given not in asked and inspect.Parameter.VAR_KEYWORD not in kinds:
            raise UserError(f"reward function `{spec.function}` takes no parameter `{given}`; {nearest(given, asked)}")


def _column_values(name: str, asked: dict[str, inspect.Parameter], batch: RewardBatch) -> dict[str, list[Any]]:
    """Values of the columns that the function asks for, by name, one a sample."""
    known = set().union(*batch.columns)
    for key, parameter in asked.items():
        if key not in known and parameter.default is parameter.empty:
            hint = nearest(key, [*_OFFERED, *known])
            raise UserError(
                f"reward function `{name}` asks for `{key}`, which is no column of the prompts and not in its "
                f"`parameters`; {hint}"
            )
    return {key: [row.get(key) for row in batch.columns] for key in asked if key in known}


def _checked(name: str, returned: Any, responses: list[str]) -> list[float]:
    """What the function returned, as one finite number for each response."""
    if isinstance(returned, (str, bytes, dict)) or not isinstance(returned, Iterable):
        raise UserError(f"reward function `{name}` must return a list of numbers, one a response, not {returned!r:.80}")
    values = list(returned)
    if len(values) != len(responses):
        raise UserError(f"reward function `{name}` returned {len(values)} rewards for {len(responses)} responses")
    return [_number(name, sample, value, responses[sample]) for sample, value in enumerate(values)]


def _number(name: str, sample: int, value: Any, response: str) -> float:
    try:
        number = math.nan if isinstance(value, str) else float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise UserError(
            f"reward function `{name}` returned {value!r} for sample {sample} (from 0), not a finite number; "
            f"its response: {response[:80]!r}"
        )
    return number
