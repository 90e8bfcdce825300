"""What all models of the resource share: strict keys, camelCase in YAML, bounded types, rules with a remedy."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

ShortText = Annotated[str, Field(min_length=1, max_length=253)]
LongText = Annotated[str, Field(max_length=4096)]
PathText = Annotated[str, Field(min_length=1, max_length=1024)]
DnsLabel = Annotated[str, Field(max_length=63, pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")]
Quantity = Annotated[str, Field(max_length=32, pattern=r"^[0-9]+(\.[0-9]+)?(m|k|M|G|T|Ki|Mi|Gi|Ti)?$")]
Duration = Annotated[str, Field(max_length=32, pattern=r"^([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?$", min_length=2)]
Count = Annotated[int, Field(ge=1, le=1_000_000_000)]
CountOrZero = Annotated[int, Field(ge=0, le=1_000_000_000)]
Positive = Annotated[float, Field(gt=0, le=1e9, allow_inf_nan=False)]
NonNegative = Annotated[float, Field(ge=0, le=1e9, allow_inf_nan=False)]
Fraction = Annotated[float, Field(gt=0, le=1)]
FunctionRef = Annotated[str, Field(max_length=1024, pattern=r"^[^:]+:[A-Za-z_][A-Za-z0-9_]*$")]
Parameters = Annotated[dict[str, Any], Field(max_length=128)]


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """A relation between fields of one model: what must hold, and the sentence shown when it does not."""

    message: str
    holds: Callable[[Any], bool]


class SpecModel(BaseModel):
    """Base of all parts of the resource. Unknown keys are refused; `rules` are checked after the fields."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        extra="forbid",
        frozen=True,
        populate_by_name=True,
        use_attribute_docstrings=True,
        protected_namespaces=(),
    )
    rules: ClassVar[tuple[Rule, ...]] = ()

    @model_validator(mode="after")
    def _check_rules(self) -> Self:
        for rule in self.rules:
            if not rule.holds(self):
                raise PydanticCustomError("rule", "{message}", {"message": rule.message})
        return self


def exactly_named_by_type(*members: str) -> Rule:
    """Rule of a union: of the sub-objects `members`, only the one that `type` names may be given."""
    return Rule(
        message=f"only the sub-object that `type` names may be given (of {', '.join(map(to_camel, members))}); "
        "remove the others or change `type`",
        holds=lambda spec: all(getattr(spec, member) is None or to_camel(member) == spec.type for member in members),
    )
