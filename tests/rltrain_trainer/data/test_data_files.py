"""Prompts read from files: what becomes of rows, and what a user is told about bad ones."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from rltrain_api.data import PromptSource
from rltrain_api.errors import UserError
from rltrain_trainer.data.prompts import Prompt, load_prompts

ROWS: list[dict[str, Any]] = [
    {"prompt": "1 + 1 =", "answer": 2, "level": "easy"},
    {"prompt": "2 + 2 =", "answer": "4", "level": "hard"},
]


def make_source(path: str, **fields: Any) -> PromptSource:
    return PromptSource.model_validate({"type": "file", "file": {"path": path, **fields}})


def write_jsonl(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def write_json(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text(json.dumps(rows))


def write_parquet(path: Path, rows: list[dict[str, Any]]) -> None:
    parquet.write_table(pa.Table.from_pylist([{**row, "answer": str(row["answer"])} for row in rows]), path)


@pytest.mark.parametrize(
    ("name", "write"),
    [("a.jsonl", write_jsonl), ("a.json", write_json), ("b.json", write_jsonl), ("a.parquet", write_parquet)],
)
def test_every_format_gives_the_same_prompts(tmp_path: Path, name: str, write: Any) -> None:
    write(tmp_path / name, ROWS)
    assert load_prompts(make_source(name), tmp_path) == [
        Prompt(index=0, prompt="1 + 1 =", answer="2", columns={"level": "easy"}),
        Prompt(index=1, prompt="2 + 2 =", answer="4", columns={"level": "hard"}),
    ]


def test_limit_keeps_the_first_rows_and_reads_no_further(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"prompt": "x"}\n{"prompt": "y"}\nnot json\n')
    prompts = load_prompts(make_source("a.jsonl", limit=2), tmp_path)
    assert [prompt.prompt for prompt in prompts] == ["x", "y"]


def test_blank_lines_are_no_rows(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('\n{"prompt": "x"}\n  \n')
    assert len(load_prompts(make_source("a.jsonl"), tmp_path)) == 1


def test_columns_may_have_other_names(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "a.jsonl", [{"question": "q", "gold": "g"}])
    source = make_source("a.jsonl", promptKey="question", answerKey="gold")
    assert load_prompts(source, tmp_path) == [Prompt(index=0, prompt="q", answer="g")]


def test_a_prompt_may_be_chat_messages(tmp_path: Path) -> None:
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]
    write_jsonl(tmp_path / "a.jsonl", [{"prompt": messages}])
    assert load_prompts(make_source("a.jsonl"), tmp_path)[0].prompt == messages


@pytest.mark.parametrize(("answer", "text"), [(7, "7"), (2.5, "2.5"), (True, "True"), (None, None), ("seven", "seven")])
def test_an_answer_of_any_scalar_type_becomes_text(tmp_path: Path, answer: Any, text: str | None) -> None:
    write_jsonl(tmp_path / "a.jsonl", [{"prompt": "x", "answer": answer}])
    assert load_prompts(make_source("a.jsonl"), tmp_path)[0].answer == text


def test_an_absolute_path_is_taken_as_it_is(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "a.jsonl", ROWS)
    assert len(load_prompts(make_source(str(tmp_path / "a.jsonl")), Path("/"))) == 2


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "`a.jsonl` has no rows"),
        (b'{"prompt": "x"}\n{"prompt": \n', "a.jsonl, line 2: is not JSON"),
        (b'{"prompt": "x"}\n{"prompt": "\xff"}\n', "a.jsonl, line 2: byte 13 is not UTF-8"),
        (b'["x"]\n', "a.jsonl, line 1: a row must be a JSON object"),
        (b'{"promt": "x"}\n', "a.jsonl, line 1: there is no column `prompt`; did you mean `promt`?"),
        (b'{"prompt": 3}\n', "a.jsonl, line 1, column `prompt`: a prompt must be text"),
        (b'{"prompt": ""}\n', "a.jsonl, line 1, column `prompt`: a prompt must be text"),
        (b'{"prompt": [{"role": "user"}]}\n', "a.jsonl, line 1, column `prompt`: a prompt must be text"),
        (b'{"prompt": "x", "answer": [1]}\n', "a.jsonl, line 1, column `answer`: an answer must be text or a number"),
    ],
)
def test_a_bad_row_is_named(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "a.jsonl").write_bytes(content)
    with pytest.raises(UserError) as caught:
        load_prompts(make_source("a.jsonl"), tmp_path)
    assert message in str(caught.value)


def test_an_answer_column_that_the_manifest_names_must_be_there(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "a.jsonl", [{"prompt": "x", "answer": "1"}])
    with pytest.raises(UserError, match="there is no column `anwser`; did you mean `answer`"):
        load_prompts(make_source("a.jsonl", answerKey="anwser"), tmp_path)


def test_a_missing_file_is_named_with_the_directory_it_is_relative_to(tmp_path: Path) -> None:
    with pytest.raises(UserError) as caught:
        load_prompts(make_source("none.jsonl"), tmp_path)
    assert str(caught.value) == f"data file `none.jsonl` does not exist (relative paths start at {tmp_path.resolve()})"


def test_an_unknown_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"must end in \.jsonl, \.json, \.parquet"):
        load_prompts(make_source("rows.csv"), tmp_path)


def test_a_damaged_parquet_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"PAR1 and then nothing of the kind")
    with pytest.raises(UserError, match=r"a\.parquet: cannot be read as Parquet"):
        load_prompts(make_source("a.parquet"), tmp_path)


def test_the_examples_have_all_sums_once() -> None:
    directory = Path(__file__).parents[3] / "examples" / "data"
    train = load_prompts(make_source("addition-train.jsonl"), directory)
    validation = load_prompts(make_source("addition-validation.jsonl"), directory)
    sums = {f"What is {a} + {b}? Answer with a number only.": str(a + b) for a in range(1, 20) for b in range(1, 20)}
    assert (len(train), len(validation)) == (297, 64)
    assert {str(prompt.prompt): prompt.answer for prompt in [*train, *validation]} == sums
