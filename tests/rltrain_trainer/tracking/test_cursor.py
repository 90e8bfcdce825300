"""Cursors: kept whole, and an unreadable one only means delivering again."""

from pathlib import Path

import pytest

from rltrain_trainer.log.reader import Position
from rltrain_trainer.log.records import RunState
from rltrain_trainer.tracking.cursor import Cursor, cursor_path


def test_cursor_round_trips(tmp_path: Path) -> None:
    cursor = Cursor(
        position=Position(segment=3, offset=77),
        sequence=12,
        step=4,
        run_id="abc",
        error="down",
        closed=RunState.FAILED,
        bookmark="file:1",
        names={"scalars:a": "custom/a"},
    )
    path = cursor_path(tmp_path, "mlflow")
    cursor.save(path)
    assert Cursor.load(path) == cursor
    assert [file.name for file in tmp_path.iterdir()] == ["mlflow.json"]


@pytest.mark.parametrize("content", [b"", b"{", b"{}", b'{"position": 3}', b'{"new field": 1}', b"\xff"])
def test_unreadable_cursor_is_one_at_the_start(
    tmp_path: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    path = cursor_path(tmp_path, "mlflow")
    path.write_bytes(content)
    assert Cursor.load(path) == Cursor()
    assert "delivering from the start" in caplog.records[0].message


def test_absent_cursor_is_one_at_the_start(tmp_path: Path) -> None:
    assert Cursor.load(tmp_path / "mlflow.json") == Cursor()
