# SPDX-License-Identifier: Apache-2.0
"""With any python3 on PATH, sessions find the format with the program's Python, or the error names the setting."""

import os
import subprocess
import sys

import pytest

from slipring.spark import worker_python
from support.spark import quick_environment

pytestmark = pytest.mark.timeout(600)
READ = """
rows = spark.read.format("slipring").options(bus="test", root={root!r}, subscribe="in").load()
print(sorted(bytes(row.value).decode() for row in rows.collect()))
spark.stop()
"""
PLAIN = "spark = SparkSession.builder.master('local[1]').config('spark.ui.enabled', 'false').getOrCreate()\n"
PROGRAMS = {
    "a plain session": "import slipring.spark\nfrom pyspark.sql import SparkSession\n" + PLAIN,
    "a session that was there before": "from pyspark.sql import SparkSession\n"
    + PLAIN
    + "import slipring.spark\nslipring.spark.register(spark)\n",
}


@pytest.fixture
def bare(tmp_path):
    """An environment that is not activated: python3 on PATH is without slipring."""
    other = tmp_path / "python3"
    other.write_text("#!/bin/sh\nexec /usr/bin/env -i /bin/sh -c 'echo no slipring here >&2; exit 1'\n")
    other.chmod(0o755)
    environment = {name: text for name, text in os.environ.items() if not name.startswith("PYSPARK_")}
    return (
        environment
        | quick_environment()
        | {"PATH": f"{tmp_path}:/usr/bin:/bin", "SPARK_LOCAL_IP": "127.0.0.1"}
    )


def run(command, environment, place):
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=place)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_python_of_the_program_reads_topics(bus, bare, tmp_path, program):
    bus.publisher("in").send_many([b"1", b"2", b"3"])
    text = PROGRAMS[program] + READ.format(root=bus.root)
    assert run([sys.executable, "-c", text], bare, tmp_path) == "['1', '2', '3']\n"


def test_a_program_of_spark_submit_reads_topics_with_its_own_python(bus, bare, tmp_path):
    import pyspark

    bus.publisher("in").send_many([b"1", b"2", b"3"])
    program = tmp_path / "program.py"
    program.write_text(
        "import slipring.spark\nspark = slipring.spark.session('x')\n" + READ.format(root=bus.root)
    )
    home = os.path.dirname(pyspark.__file__)
    settings = ["--master", "local[1]", "--conf", f"spark.pyspark.driver.python={sys.executable}"]
    command = [f"{home}/bin/spark-submit", *settings, str(program)]
    assert "['1', '2', '3']" in run(command, bare | {"SPARK_HOME": home}, tmp_path)


class Context:
    def __init__(self, chosen: str) -> None:
        self.pythonExec = chosen


def test_another_python_chosen_by_the_user_is_kept_or_named(bare, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", bare["PATH"])
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    context = Context(sys.executable)
    assert not worker_python.settle(context)
    context = Context("python3")
    assert worker_python.settle(context) and context.pythonExec == sys.executable
    for chosen in (str(tmp_path / "python3"), "/nowhere/python"):
        with pytest.raises(worker_python.NoSlipring, match="set PYSPARK_PYTHON to a Python with"):
            worker_python.settle(Context(chosen))
    monkeypatch.setenv("PYSPARK_PYTHON", "python3")
    with pytest.raises(worker_python.NoSlipring, match="no slipring here"):
        worker_python.settle(Context("python3"))
