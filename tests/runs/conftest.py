"""Fixtures: starters of real runs that end whatever a test left running."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.runs.harness import Starter


@pytest.fixture
def starter(tmp_path: Path) -> Iterator[Starter]:
    starter = Starter(tmp_path)
    yield starter
    starter.end()


@pytest.fixture(scope="module")
def module_starter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Starter]:
    starter = Starter(tmp_path_factory.mktemp("runs"))
    yield starter
    starter.end()
