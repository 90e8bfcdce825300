"""Moves records from the log to one tracker, batch by batch, cursor in hand. Used by the delivery thread and `sync`."""

import json
import logging
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from rltrain_trainer.log.reader import LogReader, Position
from rltrain_trainer.log.records import STEP_MARK, Entry, Mark, RunState
from rltrain_trainer.run_directory import Fence, RunDirectory
from rltrain_trainer.tracking.cursor import Cursor, cursor_path
from rltrain_trainer.tracking.tracker import Refused, Tracker

logger = logging.getLogger(__name__)
_BATCH_ENTRIES = 256
_BATCH_BYTES = 4 << 20


@dataclass(kw_only=True, slots=True)
class _Batch:
    """Entries in a row and the position behind the last."""

    start: Position
    end: Position
    entries: list[Entry] = field(default_factory=list)

    def is_full(self) -> bool:
        """Whether to hand it over now. Segments are larger than a batch, so a new one ends it."""
        moved = self.end.offset - self.start.offset
        return len(self.entries) >= _BATCH_ENTRIES or moved >= _BATCH_BYTES or self.end.segment != self.start.segment


class Pump:
    """One tracker's records. With a fence, an attempt that no longer owns the run delivers nothing."""

    def __init__(self, run: RunDirectory, name: str, tracker: Tracker, fence: Fence | None) -> None:
        self.name = name
        self._tracker = tracker
        self._fence = fence
        self._path = cursor_path(run.cursors, name)
        self._refused_path = run.cursors / f"{name}.refused.jsonl"
        self._reader = LogReader(run.log)
        self._open = False
        self.cursor = Cursor.load(self._path)

    def deliver(self) -> None:
        """Hand over everything that the log holds now. Raises Unavailable when the tracker cannot take it."""
        self._connect()
        for batch in self._batches():
            self._check_fence()
            self._hand_over([entry for entry in batch.entries if not entry.replay])
            steps = [e.record.step for e in batch.entries if isinstance(e.record, Mark) and e.record.name == STEP_MARK]
            self._save(
                position=batch.end,
                sequence=batch.entries[-1].sequence,
                step=max([self.cursor.step, *steps]),
                bookmark=self._tracker.bookmark,
                names=dict(self._tracker.names),
                error=None,
                closed=None,
            )
        if self.cursor.error is not None:
            self._save(error=None)

    def close(self, state: RunState) -> None:
        """Tell the tracker how the run ended. Raises Unavailable."""
        self._connect()
        self._check_fence()
        self._tracker.close(state)
        self._open = False
        self._save(closed=state, error=None)

    def failed(self, reason: str) -> None:
        """Note why nothing is delivered; the next try connects anew."""
        self._open = False
        self._check_fence()
        self._save(error=reason)

    def _connect(self) -> None:
        if self._open:
            return
        self._check_fence()
        tracked = self._tracker.open(self.cursor)
        if self.cursor.run_id not in (None, tracked.run_id):
            logger.warning("%s: run %s is gone; filling %s anew", self.name, self.cursor.run_id, tracked.run_id)
            self.cursor = Cursor(names=self.cursor.names)
        self._open = True
        self._save(run_id=tracked.run_id, url=tracked.url)

    def _batches(self) -> Iterator[_Batch]:
        batch = _Batch(start=self.cursor.position, end=self.cursor.position)
        for entry, position in self._reader.read(self.cursor.position):
            batch.entries.append(entry)
            batch.end = position
            if batch.is_full():
                yield batch
                batch = _Batch(start=position, end=position)
        if batch.entries:
            yield batch

    def _hand_over(self, entries: list[Entry]) -> None:
        try:
            if entries:
                self._tracker.deliver(entries)
        except Refused as error:
            if len(entries) == 1:
                self._set_aside(entries[0], str(error))
                return
            for entry in entries:
                self._hand_over([entry])

    def _set_aside(self, entry: Entry, reason: str) -> None:
        what = {"attempt": entry.attempt, "sequence": entry.sequence, "kind": entry.record.kind, "reason": reason}
        with self._refused_path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(what) + "\n")
        self._save(set_aside=self.cursor.set_aside + 1)
        logger.warning("%s refused record %d (%s): %s", self.name, entry.sequence, entry.record.kind, reason)

    def _check_fence(self) -> None:
        if self._fence is not None:
            self._fence.check()

    def _save(self, **changes: Any) -> None:
        self.cursor = replace(self.cursor, **changes)
        self.cursor.save(self._path)
