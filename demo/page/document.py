# SPDX-License-Identifier: Apache-2.0
"""The page: headline, tiles, audit, charts. Every text that is not ours is escaped."""

import os
import platform
import time
from html import escape
from pathlib import Path

from demo import robot, timings
from demo.evidence import Evidence
from demo.page import lanes, latency, losses, pauses, rates
from demo.page.svg import tag
from storm.audit import Claim

_STYLE = Path(__file__).with_name("style.css")


def _headline(evidence: Evidence, claims: list[Claim]) -> tuple[str, str]:
    failed = sum(not claim.passed for claim in claims)
    if failed:
        return "FAIL", f"{failed} of {len(claims)} claims do not hold."
    return "PASS", f"Killed {len(evidence.kills)} times. Nothing lost unnoticed."


def _tiles(evidence: Evidence) -> str:
    commands = evidence.ends["commands"].published
    handled = len({seq for life in evidence.lives for seq in timings.handled(life)})
    read = sum(reading.receptions for reading in evidence.readings())
    corrupt = sum(len(reading.corrupt) for reading in evidence.readings())
    data = sum(end.bytes for end in evidence.ends.values()) / 1e6
    longest = max((pause.pause_s for pause in timings.survivor_pauses(evidence)), default=0.0) * 1e3
    paused = len(evidence.strikes) - len(evidence.kills)
    facts = (
        (f"{len(evidence.kills)}", f"SIGKILLs, and {paused} SIGSTOPs"),
        (f"{handled:,}", f"of {commands:,} commands handled"),
        (f"{read:,}", "messages read by all readers"),
        (f"{corrupt}", "corrupt"),
        (f"{longest:.1f} ms", "longest pause of a survivor"),
        (f"{data:,.0f} MB", "through shared memory"),
    )
    return tag(
        "div", *(tag("div", tag("b", a), tag("span", b), class_="tile") for a, b in facts), class_="tiles"
    )


def _audit(claims: list[Claim]) -> str:
    rows = []
    for claim in claims:
        word, look = ("✓ PASS", "pass") if claim.passed else ("✕ FAIL", "fail")
        rows.append(
            tag(
                "tr",
                tag("td", tag("span", word, class_=look), class_="mark"),
                tag("td", escape(claim.title), class_="claim"),
                tag("td", escape(claim.detail) or " ", class_="detail"),
            )
        )
    return tag("table", *rows)


def _key(*entries: tuple[str, str]) -> str:
    return tag(
        "div", *(f'<span><i class="{look}"></i>{escape(name)}</span>' for look, name in entries), class_="key"
    )


def _section(title: str, words: str, *content: str) -> str:
    return tag("section", tag("h2", title), tag("p", words), *content)


def _chart(drawing: str) -> str:
    return tag("div", drawing, class_="chart")


def _latency_table(evidence: Evidence) -> str:
    rows: list[str] = []
    for topic in robot.TOPIC_NAMES:
        values = latency.figures(evidence, topic)
        if not rows and values:
            rows.append(tag("tr", tag("th", "topic"), *(tag("th", name) for name, _ in values)))
        rows.append(tag("tr", tag("td", topic), *(tag("td", latency.spell(us)) for _, us in values)))
    return tag("table", *rows, class_="figures")


def _slow_reader_and_latency(evidence: Evidence) -> str:
    fast = timings.losses(evidence, "balance")[-1]
    return tag(
        "div",
        _section(
            "A reader that is too slow",
            "It reads ten a second of thirty, from a ring that holds two seconds. "
            f"The fast reader beside it read {fast[1]:,} and lost {fast[2]:,}.",
            _chart(losses.draw(evidence)),
        ),
        _section(
            "Send to receive",
            "Dots: p50, p90, p99, p99.9, max. The tail waited for a killed or stopped reader.",
            _chart(latency.draw(evidence)),
            _latency_table(evidence),
        ),
        class_="pair",
    )


def _charts(evidence: Evidence) -> list[str]:
    topics = [(f"t-{topic}", topic) for topic in robot.TOPIC_NAMES]
    marks = [("k-kill", "SIGKILL"), ("k-pause", "SIGSTOP until SIGCONT"), ("t-all", "all topics")]
    return [
        _section(
            "Every process, every life",
            "A bar is one process from its first message to its death; the thin line before it is its start.",
            _key(*topics, *marks),
            _chart(lanes.draw(evidence)),
        ),
        _section(
            "Rate of each topic under fire",
            "Messages a second, measured each quarter of a second. A red mark is the kill of a process of "
            "that topic, with a dashed line if it was a sender.",
            _chart(rates.draw(evidence)),
        ),
        _slow_reader_and_latency(evidence),
        _section(
            "What survivors felt of a kill",
            "For every kill, and every process that lived through it: the time between its last deed before "
            "and its first after, beyond its own period. Grey is the same process half-way between two "
            "strikes, when only the machine's scheduling disturbs it.",
            _key(("t-commands", "at a kill"), ("t-all", "between strikes")),
            _chart(pauses.draw(evidence)),
        ),
    ]


def render(evidence: Evidence, claims: list[Claim], seed: int, when: float) -> str:
    verdict, headline = _headline(evidence, claims)
    seconds = (evidence.ended_ns - evidence.began_ns) / 1e9
    intro = (
        f"{len(robot.COMPONENTS)} processes of a small robot talked over shared memory for {seconds:.0f} seconds "
        "while a random one was killed about every 0.3 seconds and started again. Each wrote down what it "
        "did; the claims below are computed from those journals and from the counters in shared memory."
    )
    at = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(when))
    machine = f"Linux {platform.release()}, {os.cpu_count()} CPUs, Python {platform.python_version()}"
    again = f"<code>python -m demo --seconds {seconds:.0f} --seed {seed}</code>"
    body = tag(
        "main",
        tag(
            "div",
            tag("span", verdict, class_=f"verdict {verdict.lower()}"),
            "Slipring demo",
            class_="eyebrow",
        ),
        tag("h1", escape(headline)),
        tag("p", escape(intro)),
        _tiles(evidence),
        _section(
            "Audit", "Recomputed for every incarnation of every process, killed ones too.", _audit(claims)
        ),
        *_charts(evidence),
        tag("footer", f"{at} · {escape(machine)} · again: {again}"),
    )
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Slipring demo: {verdict}</title><style>{_STYLE.read_text()}</style>"
    )
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body>{body}</body></html>\n'
