# SPDX-License-Identifier: Apache-2.0
"""``slipring pipeline``: what needs no Spark. Runs are in tests/spark/cluster/test_connect.py and in the example."""

from pathlib import Path

import pytest

from slipring.pipelines import declarative

TEMPLATE = Path(declarative.__file__).with_name("project") / "alarms.py"


def test_init_writes_a_project_into_a_new_directory_only(cli, tmp_path):
    project = tmp_path / "kitchen"
    outcome = cli.run("pipeline", "init", str(project))
    written = [Path(line) for line in outcome.stdout.decode().splitlines()]
    assert written == [project / "spark-pipeline.yml", project / "transformations" / "alarms.py"]
    assert "slipring pipeline run" in outcome.stderr
    assert written[1].read_text() == TEMPLATE.read_text()
    assert (
        f"storage: file://{project}/storage" in written[0].read_text() and "{{" not in written[0].read_text()
    )
    outcome = cli.run("pipeline", "init", str(project), code=1)
    assert "exists and is not empty" in outcome.stderr and len(outcome.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("nothing", "does not exist"),
        (".", "has no spark-pipeline.yml"),
        ("alarms.py", "is not a pipeline's spec"),
    ],
)
def test_run_names_what_is_not_a_pipeline_and_how_to_get_one(cli, tmp_path, name, problem):
    (tmp_path / "alarms.py").write_text("")
    outcome = cli.run("pipeline", "run", str(tmp_path / name), code=1)
    assert problem in outcome.stderr and "slipring pipeline init" in outcome.stderr


def test_settings_have_the_form_that_spark_has(cli, tmp_path):
    outcome = cli.run("pipeline", "run", "--conf", "driver.memory", str(tmp_path), code=2)
    assert "spark.NAME=VALUE" in outcome.stderr
