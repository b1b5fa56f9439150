# SPDX-License-Identifier: Apache-2.0
"""The page of a soak: verdict, audit, plots over time, the machine and the figures of the run."""

import base64
import io
import time
from html import escape
from typing import Any

from slipring.pipelines.html.document import document
from slipring.pipelines.html.markup import audit, eyebrow, section, tag, wide
from soak import figures
from soak.flatness import Samples
from storm.audit import Claim

_MINUTE = 60.0
Losses = tuple[list[float], list[int], list[int]]  # seconds, counted, audited


def plot(samples: Samples, gaps: figures.Gaps, losses: Losses) -> bytes:
    """Plot gaps, losses, memory and descriptors over time. Return a PNG."""
    from matplotlib import pyplot

    drawing, picture = draw(samples, gaps, losses), io.BytesIO()
    drawing.savefig(picture, format="png")
    pyplot.close(drawing)
    return picture.getvalue()


def draw(samples: Samples, gaps: figures.Gaps, losses: Losses) -> Any:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    drawing, axes = pyplot.subplots(3, 2, figsize=(13, 11), dpi=90, constrained_layout=True)
    minutes = [sample["s"] / _MINUTE for sample in samples]
    _draw_gaps(axes[0][0], gaps)
    _draw_losses(axes[0][1], losses)
    for name in samples[-1]["processes"]:
        axes[1][0].plot(minutes, [s["processes"][name]["rss_kib"] / 1024 for s in samples], lw=1, label=name)
        axes[1][1].plot(minutes, [s["processes"][name]["descriptors"] for s in samples], lw=1, label=name)
    for name in ("supervisor", "fork_server"):
        axes[1][0].plot(minutes, [s[name]["rss_kib"] / 1024 for s in samples], lw=1, ls="--", label=name)
        axes[1][1].plot(minutes, [s[name]["descriptors"] for s in samples], lw=1, ls="--", label=name)
    axes[1][0].set(title="Resident memory, including rings", ylabel="MiB")
    axes[1][1].set(title="Descriptors")
    for kind in ("publishers", "readers", "cursors"):
        axes[2][0].plot(minutes, [s["entries"][kind] for s in samples], lw=1, label=f"{kind} entries")
    axes[2][0].plot(minutes, [s["root"]["files"] for s in samples], lw=1, label="files in the bus root")
    axes[2][0].set(title="Table entries and files")
    _draw_recording(axes[2][1], minutes, samples)
    for axis in axes.flat:
        axis.set_xlabel("minutes")
        axis.grid(alpha=0.25)
        if axis.get_legend_handles_labels()[0]:
            axis.legend(fontsize=7)
        axis.set_ylim(bottom=0 if axis is not axes[0][0] else None)
    return drawing


def _draw_gaps(axis: Any, gaps: figures.Gaps) -> None:
    minutes = [line["s"] / _MINUTE for line in gaps[1:]]
    for name, values in figures.by_survivor(gaps).items():
        axis.plot(minutes, values, ".", ms=2, label=name)
    axis.set_yscale("log")
    axis.set(title="Longest gap of each survivor after each signal", ylabel="ms")


def _draw_losses(axis: Any, losses: Losses) -> None:
    seconds, counted, audited = losses
    minutes = [s / _MINUTE for s in seconds]
    axis.plot(minutes, audited, lw=4, alpha=0.35, label="lost, by the journals")
    axis.plot(minutes, counted, lw=1, label="lost, by the reader's counters")
    axis.set(title="Losses of the slow reader", ylabel="messages")


def _draw_recording(axis: Any, minutes: list[float], samples: Samples) -> None:
    if "recording" not in samples[-1]:
        axis.set(title="No recording in this run")
        return
    axis.plot(minutes, [s["recording"]["rss_kib"] / 1024 for s in samples], lw=1, label="resident MiB")
    axis.plot(minutes, [s["recording"]["descriptors"] for s in samples], lw=1, label="descriptors")
    axis.set(title="Spark's recording: driver, JVM and workers together")


def _facts(facts: dict[str, Any]) -> str:
    rows = [
        tag("tr", tag("td", escape(name)), tag("td", escape(str(value)), class_="detail"))
        for name, value in facts.items()
    ]
    return wide(tag("table", *rows, class_="audit"))


def render(claims: list[Claim], about: dict[str, Any], counts: dict[str, Any], picture: bytes) -> str:
    failed = sum(not claim.passed for claim in claims)
    verdict = "FAIL" if failed else "PASS"
    headline = (
        f"{failed} of {len(claims)} claims do not hold."
        if failed
        else f"{about['hours']:.2f} hours, killed {counts['kills']:,} times."
    )
    image = base64.b64encode(picture).decode()
    plots = f'<img style="width:100%" alt="plots over time" src="data:image/png;base64,{image}">'
    content = (
        eyebrow("Slipring soak", verdict),
        tag("h1", escape(headline)),
        tag(
            "p",
            "4 publishers and 8 subscribers on a lossy and a reliable topic; a kill or stop every two seconds.",
        ),
        section("Audit", "", audit((claim.title, claim.passed, claim.detail) for claim in claims)),
        section("Over time", "", plots),
        section("The run", "", _facts(about)),
        section("Figures", "", _facts(counts)),
    )
    return document(f"Slipring soak: {verdict}", "".join(content))


def utc(when: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(when))
