# SPDX-License-Identifier: Apache-2.0
"""The page: headline, tiles, audit, charts."""

import os
import platform
import time
from html import escape
from pathlib import Path

from demo import robot, timings
from demo.evidence import Evidence
from demo.page import latency, losses, pauses, processes, rates
from slipring.pipelines.html.document import document
from slipring.pipelines.html.markup import audit, eyebrow, section, tag, tiles, wide
from slipring.units import frequency
from storm.audit import Claim

_STYLE = Path(__file__).with_name("style.css")


def _headline(evidence: Evidence, claims: list[Claim]) -> tuple[str, str]:
    failed = sum(not claim.passed for claim in claims)
    if failed:
        return "FAIL", f"{failed} of {len(claims)} claims do not hold."
    return "PASS", f"{len(evidence.kills)} processes killed. Every message is accounted for."


def _tiles(evidence: Evidence) -> str:
    commands = evidence.ends["commands"].published
    handled = len({seq for life in evidence.lives for seq in timings.handled(life)})
    read = sum(reading.receptions for reading in evidence.readings())
    corrupt = sum(len(reading.corrupt) for reading in evidence.readings())
    data = sum(end.bytes for end in evidence.ends.values()) / 1e6
    longest = max((pause.pause_s for pause in timings.survivor_pauses(evidence)), default=0.0) * 1e3
    paused = len(evidence.strikes) - len(evidence.kills)
    return tiles(
        [
            (f"{len(evidence.kills)}", f"SIGKILLs, and {paused} SIGSTOPs", ""),
            (f"{handled:,}", f"of {commands:,} commands handled", ""),
            (f"{read:,}", "messages read by all readers", ""),
            (f"{corrupt}", "corrupt messages", "bad" if corrupt else ""),
            (f"{longest:.1f} ms", "longest pause of another process at a kill", ""),
            (f"{data:,.0f} MB", "published", ""),
        ]
    )


def _key(*entries: tuple[str, str]) -> str:
    return tag(
        "div", *(f'<span><i class="{look}"></i>{escape(name)}</span>' for look, name in entries), class_="key"
    )


def _latency_table(evidence: Evidence) -> str:
    rows: list[str] = []
    for topic in robot.TOPIC_NAMES:
        values = latency.figures(evidence, topic)
        if not rows and values:
            rows.append(tag("tr", tag("th", "topic"), *(tag("th", name) for name, _ in values)))
        rows.append(tag("tr", tag("td", topic), *(tag("td", latency.spell(us)) for _, us in values)))
    return wide(tag("table", *rows, class_="figures"))


def _slow_reader(evidence: Evidence) -> str:
    """Compare the logger with the viewer, which reads the same topic without sleeping."""
    slow, other = robot.COMPONENTS["logger"], robot.COMPONENTS["viewer"]
    (topic,) = slow.topics
    sent = timings.mean_rate(evidence, topic)
    _, read, lost = timings.losses(evidence, other.name)[-1]
    held_s = robot.CLOUD_RING_BYTES / robot.CLOUD_BYTES / sent if sent else 0.0
    return (
        f"The {slow.name} sleeps {slow.options['nap_s']:g} s after each message of {topic}. It read "
        f"{frequency(timings.read_rate(evidence, slow.name))} a second of {frequency(sent)}, from a ring that holds "
        f"about {frequency(held_s)} s of them; the rest was overwritten first, and is counted as lost. "
        f"The {other.name} reads the same topic without sleeping: it read {read:,} and lost {lost:,}."
    )


def _slow_reader_and_latency(evidence: Evidence) -> str:
    return tag(
        "div",
        section("A reader that is too slow", _slow_reader(evidence), wide(losses.draw(evidence))),
        section(
            "Send to receive",
            "Dots: p50, p90, p99, p99.9, max. Included: the time for which a reader was stopped and, on commands, the "
            "time from the kill of the actuator until its successor reads.",
            wide(latency.draw(evidence)),
            _latency_table(evidence),
        ),
        class_="pair",
    )


def _charts(evidence: Evidence) -> list[str]:
    topics = [(f"t-{topic}", topic) for topic in robot.TOPIC_NAMES]
    marks = [("k-kill", "SIGKILL"), ("k-pause", "SIGSTOP until SIGCONT"), ("t-all", "all topics")]
    return [
        section(
            "Every process",
            "A bar is one process, from its first message to its end. The thin line before it is its start.",
            _key(*topics, *marks),
            wide(processes.draw(evidence)),
        ),
        section(
            "Rate of each topic",
            f"Messages a second, in steps of about {rates.BIN_S:g} s; the figure on the right is the mean. A red mark "
            "is the kill of a process that uses only this topic; a sender has a dashed line.",
            wide(rates.draw(evidence)),
        ),
        _slow_reader_and_latency(evidence),
        section(
            "Pauses of the other processes at a kill",
            "For every kill and every other process: the time between its last action before the kill and its first "
            "one after it, minus its own period. Grey: the same, measured half-way between two signals, when only the "
            "scheduler of the machine delays it. Processes that were stopped, or without a running sender, are "
            "omitted.",
            _key(("t-commands", "at a kill"), ("t-all", "between signals")),
            wide(pauses.draw(evidence)),
        ),
    ]


def render(evidence: Evidence, claims: list[Claim], command: str, when: float) -> str:
    """Return the page as text. command: runs the same demo again."""
    verdict, headline = _headline(evidence, claims)
    seconds = (evidence.ended_ns - evidence.began_ns) / 1e9
    stops = len(evidence.strikes) - len(evidence.kills)
    intro = (
        f"{len(robot.COMPONENTS)} processes of a small robot exchanged messages through shared memory for "
        f"{seconds:.0f} seconds. Meanwhile processes were chosen at random: {len(evidence.kills)} times one was killed "
        f"and started again, {stops} times one was stopped for a while. Each process kept a journal. The claims "
        "below are computed from the journals and from the counters in shared memory."
    )
    at = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(when))
    machine = f"Linux {platform.release()}, {os.cpu_count()} CPUs, Python {platform.python_version()}"
    again = f"<code>{escape(command)}</code>"
    content = (
        eyebrow("Slipring demo", verdict),
        tag("h1", escape(headline)),
        tag("p", escape(intro)),
        _tiles(evidence),
        section(
            "Audit",
            "Computed from the journals of all processes, including the killed ones.",
            audit((claim.title, claim.passed, claim.detail) for claim in claims),
        ),
        *_charts(evidence),
        tag("footer", f"{at} · {escape(machine)} · run it again: {again}"),
    )
    return document(f"Slipring demo: {verdict}", "".join(content), styles=[_STYLE])
