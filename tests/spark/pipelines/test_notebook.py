# SPDX-License-Identifier: Apache-2.0
"""Jobs in a notebook with a real kernel: one display that is updated while they run, and a table as the result."""

import os

import pytest

from support.kernel import Kernel

pytestmark = pytest.mark.timeout(600)
JOBS = """
import signal, threading
import slipring
from slipring import pipelines
handlers, over = set(), threading.Event()
def look():
    while not over.wait(0.001):
        handlers.add(signal.getsignal(signal.SIGINT))
looking = threading.Thread(target=look)
looking.start()
bus = slipring.Bus("test", root={root!r})
bus.publisher("imu").send_many([b"%d" % n for n in range(1000)])
lake, settings = {lake!r}, {{"master": "local[2,4]"}}
told = pipelines.record("imu", lake, bus="test", root={root!r}, pre_buffer=True, until_idle_s=0.2, **settings)
replayed = pipelines.replay(lake, bus=bus, speed="max", rename={{"imu": "again"}}, **settings)
found = pipelines.report(lake, **settings)
over.set()
looking.join()
assert len(handlers) == 1, handlers  # Ctrl-C is the notebook's all the time
for result in (told, replayed, found):
    display(result)
"""


@pytest.fixture(scope="module")
def kernel(fast_spark, tmp_path_factory):
    java = {"JDK_JAVA_OPTIONS": fast_spark["spark.driver.extraJavaOptions"]}
    cache = str(tmp_path_factory.mktemp("notebook") / "cache")
    with Kernel({**os.environ, **java, "XDG_CACHE_HOME": cache}) as kernel:
        yield kernel


def displays(outputs):
    """Return the lines of each display, as text and HTML, in order."""
    found = {}
    for output in outputs:
        if output.display is not None:
            assert (output.kind == "update_display_data") == (output.display in found)
            lines = found.setdefault(output.display, [])
            lines.append((output.data["text/plain"], output.data["text/html"]))
    return list(found.values())


def test_a_job_has_one_display_that_is_updated_and_a_table_as_its_result(kernel, bus_root, tmp_path):
    outputs = kernel.run(JOBS.format(root=str(bus_root), lake=str(tmp_path / "lake")))
    assert not [one for one in outputs if one.kind in ("error", "stream")], outputs
    recording, replaying, report = displays(outputs)
    for lines, doing in ((recording, "recording"), (replaying, "replaying"), (report, "report")):
        texts = [text for text, _ in lines]
        assert texts[0] == f"{doing}: starting"
        assert any(text.startswith(f"{doing}: starting Spark… ") for text in texts)
        assert texts[-1].startswith(f"{doing}: ended after ")
        assert all(f"<b>{doing}</b>" in shown for _, shown in lines)
    assert recording[-1][0].endswith(", 1,000 messages") and replaying[-1][0].endswith(", 1,000 messages")
    assert any(text.startswith("report: computing… ") for text, _ in report)
    results = [one.data["text/html"] for one in outputs if one.kind == "display_data" and not one.display]
    assert [shown.count("<table>") for shown in results] == [1, 1, 1]
    assert "recorded 1,000 messages into" in results[0] and "<td>imu</td><td>1,000</td>" in results[0]
    assert "replayed 1,000 messages" in results[1] and "<td>again</td><td>1,000</td>" in results[1]
    assert "1,000 messages in" in results[2]


FAILING = """
from slipring.pipelines.job_progress import Figures, in_notebook
with in_notebook("recording", None) as show:
    show(Figures(rows=7, elapsed_s=1.0, eta_s=3.0, lost=2))
    raise KeyboardInterrupt
"""


def test_a_display_shows_the_progress_of_a_job_and_the_cause_of_its_end(kernel):
    (lines,) = displays(kernel.run(FAILING))
    texts, shown = [text for text, _ in lines], [html for _, html in lines]
    assert texts[1] == "recording: 7 messages  lost 2  for 1.0 s  ETA 3.0 s"
    assert '<progress value="0.25">' in shown[1]
    assert texts[2].startswith("recording: ended with KeyboardInterrupt after ")
    assert texts[2].endswith(", 7 messages, 2 lost") and "progress" not in shown[2]


def test_a_job_that_shows_its_own_figures_has_no_display(kernel):
    given = "from slipring.pipelines.job_progress import in_notebook\nwith in_notebook('x', print) as show: show(1)"
    assert [(one.kind, one.data) for one in kernel.run(given)] == [("stream", {"text": "1\n"})]


def test_a_batch_of_messages_is_a_table_and_other_batches_stay_as_they_are(kernel, bus_root):
    batch = f"""
import pyarrow, slipring
bus = slipring.Bus("test", root={str(bus_root)!r})
bus.publisher("imu", sender="<b>").send_many([bytes([n]) * 100 for n in range(30)])
taken = bus.subscriber("imu", start="oldest").recv_batch()
display(taken, taken.slice(0, 1), pyarrow.record_batch({{"value": [1]}}))
"""
    many, one, other = (output.data for output in kernel.run(batch))
    assert "<p>30 messages, the first 20</p>" in many["text/html"] and many["text/html"].count("<tr>") == 21
    assert "<p>1 message</p>" in one["text/html"] and "<td>&lt;b&gt;</td>" in one["text/html"]
    assert "… 100 bytes" in one["text/html"]
    assert "text/html" not in other


def test_without_a_kernel_nothing_is_shown(capsys):
    from slipring.pipelines.job_progress import in_notebook

    with in_notebook("recording", None) as show:
        assert show is None
    assert capsys.readouterr() == ("", "")
