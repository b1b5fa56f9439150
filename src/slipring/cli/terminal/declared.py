# SPDX-License-Identifier: Apache-2.0
"""What declares the schema of a new topic: `robot:Imu`, the class Imu of a module of the user."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

import click


def declared(text: str) -> Any:
    """Import the class that is named. The current directory is the last place where modules are searched."""
    if text.endswith(".bfbs"):
        return text
    module, colon, name = text.partition(":")
    if not (colon and name and all(part.isidentifier() for part in module.split("."))):
        raise click.UsageError(
            f"--schema {text!r} must be MODULE:CLASS, such as robot:Imu, or the path of a .bfbs"
        )
    sys.path.append(os.getcwd())
    try:
        found: Any = importlib.import_module(module)
    except ModuleNotFoundError as error:
        where = f"no module named {error.name!r} here or in PYTHONPATH"
        raise click.ClickException(f"--schema {text}: {where}") from None
    except Exception as error:  # noqa: BLE001 - a module of the user may raise anything
        why = f"{type(error).__name__}: {error}"
        raise click.ClickException(f"--schema {text}: module {module} cannot be imported: {why}") from None
    for part in name.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            raise click.ClickException(f"--schema {text}: module {module} has no {name!r}") from None
    return found
