# SPDX-License-Identifier: Apache-2.0
"""A whole page as one HTML file. A policy in its head forbids to load anything, and all scripts but its own."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from .markup import words

STYLE = Path(__file__).with_name("style.css")


def document(
    title: str,
    content: str,
    *,
    styles: Iterable[Path] = (),
    script: str = "",
    data: Mapping[str, object] | None = None,
) -> str:
    """Return the page as text.

    styles: further style sheets. script: runs after the page was read; data: its JSON, in the element "data"."""
    style = "\n".join(path.read_text(encoding="utf-8") for path in (STYLE, *styles))
    allowed = "'none'"
    scripts = ""
    if script:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        allowed = f"'sha256-{digest}'"
        # "<" is the only character that could end a script early.
        packed = json.dumps(data or {}, separators=(",", ":")).replace("<", "\\u003c")
        scripts = f'<script type="application/json" id="data">{packed}</script><script>{script}</script>'
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src {allowed}; img-src data:"
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        f'<link rel="icon" href="data:,"><title>{words(title)}</title>',
        f"<style>{style}</style>",
    )
    return (
        f'<!doctype html>\n<html lang="en"><head>{"".join(head)}</head>'
        f"<body><main>{content}</main>{scripts}</body></html>\n"
    )
