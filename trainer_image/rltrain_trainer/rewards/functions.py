"""Finds the function that `file.py:function` or `module:function` names. Called by the scorer when it is built."""

import hashlib
import importlib
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from rltrain_api.errors import UserError
from rltrain_api.problems import nearest


def find_function(reference: str, directory: Path) -> Callable[..., Any]:
    """The function; files are relative to `directory`. Raises UserError if file, module or function is not there."""
    where, _, name = reference.rpartition(":")
    module = _load_file(reference, directory / where) if where.endswith(".py") else _import(reference, where)
    function = getattr(module, name, None)
    if not callable(function):
        known = [key for key, value in vars(module).items() if inspect.isfunction(value)]
        hint = nearest(name, known) if known else "it defines no functions"
        raise UserError(f"`{reference}`: `{where}` has no function `{name}`; {hint}")
    found: Callable[..., Any] = function
    return found


def _import(reference: str, name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise UserError(
            f"`{reference}`: there is no module `{error.name}`; install it, or name a file as `file.py:function`"
        ) from error
    except (Exception, SystemExit) as error:
        raise _failed(reference, error) from error


def _load_file(reference: str, path: Path) -> ModuleType:
    if not path.is_file():
        raise UserError(
            f"`{reference}`: the file {path} does not exist (relative paths start at the manifest's directory)"
        )
    # Two files of the same name must not be taken for the same module.
    name = f"{path.stem}_{hashlib.blake2b(str(path.resolve()).encode(), digest_size=4).hexdigest()}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None  # noqa: S101 (given for every name that ends in .py)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    # A file may import those beside it, as it could if it were run; at the end, so that it hides nothing.
    if (folder := str(path.resolve().parent)) not in sys.path:
        sys.path.append(folder)
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise _failed(reference, error) from error
    return module


def _failed(reference: str, error: BaseException) -> UserError:
    trace = "".join(traceback.format_exception(error)).rstrip()
    return UserError(f"`{reference}` cannot be imported:\n{trace}")
