# SPDX-License-Identifier: Apache-2.0
"""Paths of lakes and pages are local. A path with a scheme would become a local directory of that name."""

from __future__ import annotations

import os
import re
from pathlib import Path

from .errors import NotLocal

# One slash is enough: pathlib turns s3://bucket into s3:/bucket.
_SCHEME = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):/")


def local(path: str | os.PathLike[str], argument: str) -> Path:
    """Return the absolute path; NotLocal if it has a scheme."""
    text = os.fspath(path)
    found = _SCHEME.match(text)
    if found is not None:
        raise NotLocal(text, found["scheme"], argument)
    return Path(text).absolute()
