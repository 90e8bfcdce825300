"""How far a tracker is: one JSON file a tracker in the run directory. Used by the delivery and `rltrain runs`."""

import json
import logging
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Self

from rltrain_trainer.log.durable import replace_file
from rltrain_trainer.log.reader import START, Position
from rltrain_trainer.log.records import RunState

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class Cursor:
    """Everything before `position` is with the tracker."""

    position: Position = START
    sequence: int = 0
    """Number of the last record delivered."""
    step: int = -1
    """Last whole step delivered; -1: none, since step 0 is the validation before training."""
    run_id: str | None = None
    url: str | None = None
    error: str | None = None
    """Why delivery does not advance; None when it does."""
    set_aside: int = 0
    """Records that the tracker refused."""
    closed: RunState | None = None
    """How the run ended, once the tracker has been told."""
    bookmark: str = ""
    names: dict[str, str] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path) -> Self:
        """The cursor in the file, or one at the start: delivering again is harmless, an unreadable file no error."""
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            content["position"] = Position(**content["position"])
            content["closed"] = RunState(content["closed"]) if content["closed"] else None
            return cls(**content)
        except FileNotFoundError:
            return cls()
        except (ValueError, TypeError, KeyError) as error:
            logger.warning("%s cannot be read (%s); delivering from the start of the log", path, error)
            return cls()

    def save(self, path: Path) -> None:
        """Replace the file. A power cut may bring an older cursor back, which is harmless."""
        replace_file(path, json.dumps(asdict(self), indent=1).encode(), sync=False)


def cursor_path(cursors: Path, tracker: str) -> Path:
    """File of the tracker's cursor."""
    return cursors / f"{tracker}.json"
