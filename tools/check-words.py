# SPDX-License-Identifier: Apache-2.0
"""Report words that the project does not use: `tools/check-words.py [PATH...]`; without a path, everything.

Checked are the prose of Markdown, comments, docstrings, names of tests and, outside of tests, texts with a space
(`texts.py`); code `spans` are not. Each entry of WORDS is a pattern and what to write instead.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from texts import CODE_SPAN, report, texts, with_continuation

WORDS = {
    r"whoever|whomever": "the reader, a process that …",
    r"in vain": "without success, or leave it out",
    r"anew": "again",
    r"for ever": "forever, without limit",
    r"c[ao]mes? to be|came to be": "is created, becomes",
    r"(goes|go|went|going) on with": "continues with",
    r"(is|are|was|were|be|been|being|gets?|got) told": "receives, learns; or let the other side report, return",
    r"tells": "reports, returns, shows",
    r"says": "reports, returns, names, states",
    r"(?<!there )(is|are|was|were) no (?!longer|more|less|later|earlier|other|matter)[a-z]+": "is not a …, has no …",
    r"that (is|are) not empty": "non-empty",
    r"(what|which|that|as) the (dead|living) (left|leave|leaves|had|have)": "files of crashed processes",
    r"the dead(?= (left|leave|leaves|had|have|are|were|may|do)\b|[.,;:)']|$)": "dead processes, crashed processes",
    r"(looks|looked|looking) (at|into|again)|(a|the|each|every|between|two) looks?": "read, check, inspect; a check",
    r"mend(s|ed|ing)?": "repair, fix",
    r"desks?": "dispatcher, request queue",
    r"crews?": "worker threads",
    r"seats?": "presence, entry",
    r"grounds?": "runtime, environment",
    r"doors?": "server socket",
    r"lanes?": "mirrored topic",
    r"ledgers?": "origin files, list of …",
    r"parcels?": "record",
    r"(a|the|its|their|no|each|own|of) wills?(?! (be|have|not))|wills": "death wake, robust list entry",
    r"crowds?": "many sleepers",
    r"lookers?|onlookers?": "inspector, monitor",
    r"troops?|torments?|bystanders?|nursery": "worker, supervisor, other load",
}
FORBIDDEN = [
    (re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE), instead) for pattern, instead in WORDS.items()
]
ALLOWED = re.compile(r"\bthe looks? of\b|\bAPART WITHIN\b")
EXCLUDED = ("tests/fixtures/", "tools/check-words.py", "tests/tools/test_words.py")


def complaints(path: str, source: str) -> Iterator[str]:
    pieces = [(number, CODE_SPAN.sub("`", text)) for number, text in texts(path, source)]
    if path.startswith(("tests/", "core/tests/")):
        pieces.insert(0, (0, Path(path).stem.replace("_", " ")))
    for number, text, whole in with_continuation(pieces):
        for pattern, instead in FORBIDDEN:
            for found in pattern.finditer(ALLOWED.sub("", whole)):
                if found.start() < len(text):
                    yield f"{path}:{number}: '{found.group()}': {instead}"


if __name__ == "__main__":
    sys.exit(report(sys.argv[1:], complaints, EXCLUDED))
