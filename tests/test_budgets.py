"""The code stays small: sizes of modules and functions, for product and tests."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PRODUCT = ("rltrain", "crds", "cli", "trainer_image")


def modules(*folders: str) -> list[Path]:
    found = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    assert found
    return [path for path in found if path.read_text().strip()]


def lines(path: Path) -> int:
    return len(path.read_text().splitlines())


def function_lengths(path: Path) -> dict[str, int]:
    """Lines of each function without its docstring, by place."""
    lengths = {}
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0]
            documented = ast.get_docstring(node) is not None
            doc = (first.end_lineno or 0) - first.lineno + 1 if documented else 0
            lengths[f"{path.relative_to(ROOT)}:{node.lineno}"] = (node.end_lineno or 0) - node.lineno + 1 - doc
    return lengths


def quantile(values: list[int], share: float) -> int:
    return sorted(values)[int(share * (len(values) - 1))]


def test_no_module_is_longer_than_350_lines() -> None:
    assert [str(path) for path in modules(*PRODUCT, "tests") if lines(path) > 350] == []


def test_modules_are_short() -> None:
    sizes = [lines(path) for path in modules(*PRODUCT)]
    assert quantile(sizes, 0.5) <= 120
    assert quantile(sizes, 0.9) <= 250


def test_functions_are_short() -> None:
    lengths = {place: size for path in modules(*PRODUCT) for place, size in function_lengths(path).items()}
    assert [place for place, size in lengths.items() if size > 60] == []
    assert quantile(list(lengths.values()), 0.5) <= 12
    assert quantile(list(lengths.values()), 0.9) <= 35


@pytest.mark.parametrize("path", modules(*PRODUCT, "tests"), ids=lambda path: str(path.relative_to(ROOT)))
def test_every_module_says_what_it_is(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text()))
