"""Names as a tracker takes them, decided once a name and kept apart when two would become one. Used by the trackers."""

import hashlib
import re
from collections.abc import Callable, Mapping

Rule = Callable[[str], str]
_HASH_DIGITS = 8


class Names:
    """One tracker's names. What was decided is kept in the cursor, so that a name is the same after a resume."""

    def __init__(self, rule: Rule, known: Mapping[str, str], *, shared: bool) -> None:
        """`known` is `decided` of an earlier time. With `shared`, records of all kinds share one set of names."""
        self.decided = dict(known)
        self._rule = rule
        self._shared = shared
        self._taken = {self._space(key, name): key for key, name in known.items()}

    def of(self, kind: str, name: str) -> str:
        """The tracker's name for the `name` of a record of this kind."""
        key = f"{kind}:{name}"
        if key not in self.decided:
            wanted = self._rule(name)
            if self._space(key, wanted) in self._taken:
                wanted = self._rule(_with_hash(wanted, key))
            self.decided[key] = wanted
            self._taken[self._space(key, wanted)] = key
        return self.decided[key]

    def _space(self, key: str, name: str) -> tuple[str, str]:
        return "" if self._shared else key.partition(":")[0], name


def name_rule(*, allowed: str, longest: int) -> Rule:
    """A rule for names of parts joined by `/`, of word characters and those `allowed`, at most `longest` long.

    A name without a group goes under `custom/`. A valid name stays as it is.
    """
    refused = re.compile(rf"[^\w.\-{re.escape(allowed)}]+")

    def rule(name: str) -> str:
        parts = [_part(part, refused) for part in _spelled(name, allowed).split("/")]
        parts = [part for part in parts if part] or ["unnamed"]
        return shortened("/".join(parts if len(parts) > 1 else ["custom", *parts]), longest)

    return rule


def shortened(name: str, longest: int) -> str:
    """`name`, or its start and a hash of the whole."""
    return name if len(name) <= longest else _with_hash(name[: longest - _HASH_DIGITS - 1], name)


def _part(part: str, refused: re.Pattern[str]) -> str:
    clean = refused.sub("_", part)
    clean = clean if clean == part else clean.strip("_ ")
    return "" if clean.strip(". ") == "" else clean


def _spelled(name: str, allowed: str) -> str:
    if "@" not in allowed:
        name = name.replace("@", "_at_")
    return name


def _with_hash(name: str, whole: str) -> str:
    return f"{name}-{hashlib.sha256(whole.encode(errors='surrogatepass')).hexdigest()[:_HASH_DIGITS]}"
