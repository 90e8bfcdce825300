"""Prompts from JSON Lines, JSON and Parquet files. Called by `prompts`."""

import json
from collections.abc import Callable, Generator
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

from rltrain_api.data import FileSource, PromptSource
from rltrain_api.errors import UserError
from rltrain_api.problems import nearest
from rltrain_trainer.data.types import Message, Prompt

# A row and where it stands, such as `train.jsonl, line 3`.
_Row = tuple[str, dict[str, Any]]
_Rows = Generator[_Row, None, None]


def load(source: PromptSource, directory: Path) -> list[Prompt]:
    """A prompt for each row; the other columns are kept."""
    spec = source.file
    assert spec is not None  # noqa: S101 (a rule of PromptSource)
    path = directory / Path(spec.path).expanduser()
    if path.suffix not in _READERS:
        raise UserError(f"data file `{spec.path}`: its name must end in {', '.join(_READERS)}")
    if not path.is_file():
        raise UserError(f"data file `{spec.path}` does not exist (relative paths start at {directory.resolve()})")
    with closing(_READERS[path.suffix](path)) as reader:
        rows = islice(reader, spec.limit)
        prompts = [_prompt(spec, index, where, row) for index, (where, row) in enumerate(rows)]
    if not prompts:
        raise UserError(f"data file `{spec.path}` has no rows")
    return prompts


def _prompt(spec: FileSource, index: int, where: str, row: dict[str, Any]) -> Prompt:
    # The answer's column may be absent unless the manifest names it.
    asked_for = [spec.prompt_key] + ([spec.answer_key] if "answer_key" in spec.model_fields_set else [])
    for key in asked_for:
        if key not in row:
            raise UserError(f"{where}: there is no column `{key}`; {nearest(key, row)}")
    return Prompt(
        index=index,
        prompt=_prompt_value(row[spec.prompt_key], f"{where}, column `{spec.prompt_key}`"),
        answer=_answer_value(row.get(spec.answer_key), f"{where}, column `{spec.answer_key}`"),
        columns={name: value for name, value in row.items() if name not in (spec.prompt_key, spec.answer_key)},
    )


def _prompt_value(value: Any, where: str) -> str | list[Message]:
    if isinstance(value, str) and value:
        return value
    if isinstance(value, list) and value and all(map(_is_message, value)):
        return [{"role": message["role"], "content": message["content"]} for message in value]
    raise UserError(
        f"{where}: a prompt must be text, or a list of messages with `role` and `content`, not {_shown(value)}"
    )


def _is_message(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("role"), str) and isinstance(value.get("content"), str)


def _answer_value(value: Any, where: str) -> str | None:
    if isinstance(value, (list, dict)):
        raise UserError(f"{where}: an answer must be text or a number, not {_shown(value)}")
    return None if value is None else str(value)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _json_rows(path: Path) -> _Rows:
    """Rows of a file with one JSON object a line."""
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if line.strip():
                where = f"{path.name}, line {number}"
                yield where, _row(_parse(line, where), where)


def _json_document_rows(path: Path) -> _Rows:
    """Rows of a file that holds one JSON list, or else one JSON object a line."""
    content = path.read_bytes()
    if not content.lstrip().startswith(b"["):
        yield from _json_rows(path)
        return
    for number, value in enumerate(_parse(content, path.name), start=1):
        where = f"{path.name}, row {number}"
        yield where, _row(value, where)


def _parse(content: bytes, where: str) -> Any:
    try:
        return json.loads(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise UserError(f"{where}: byte {error.start + 1} is not UTF-8; save the file as UTF-8") from error
    except json.JSONDecodeError as error:
        raise UserError(f"{where}: is not JSON: {error}") from error


def _row(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise UserError(f'{where}: a row must be a JSON object such as {{"prompt": …}}, not {_shown(value)}')
    return value


def _parquet_rows(path: Path) -> _Rows:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(path) as file:
            rows = (row for batch in file.iter_batches() for row in batch.to_pylist())
            for number, row in enumerate(rows, start=1):
                yield f"{path.name}, row {number}", row
    except pa.ArrowException as error:
        raise UserError(f"{path.name}: cannot be read as Parquet: {error}") from error


_READERS: dict[str, Callable[[Path], _Rows]] = {
    ".jsonl": _json_rows,
    ".json": _json_document_rows,
    ".parquet": _parquet_rows,
}
