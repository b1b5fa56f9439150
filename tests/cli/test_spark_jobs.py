# SPDX-License-Identifier: Apache-2.0
"""A signal ends a Spark job of a command without breaking into what it does (cli/spark_job.py); no Spark is needed."""

import signal

import pytest


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_a_job_that_publishes_ends_where_it_shows_its_figures(processes, signum):
    child = processes.start(
        """
        from slipring.cli import spark_job
        from slipring.cli.terminal import process_exit
        from slipring.pipelines.job_progress import Figures

        def job(show):
            say("at work")
            try:
                while True:
                    show(Figures(rows=1))
            finally:
                show(Figures(rows=2))  # of the clean-up: it is not interrupted
                say("cleaned up")

        process_exit.catch_signals()
        try:
            spark_job.run(job, lambda figures: None)
        except process_exit.Stopped as stopped:
            say(stopped.signum)
        """
    )
    child.expect("at work")
    child.signal(signum)
    child.expect("cleaned up")
    child.expect(int(signum))
    child.join()


def test_what_a_job_returns_or_raises_comes_through(processes):
    child = processes.start(
        """
        from slipring.cli import spark_job

        say(spark_job.run(lambda show: 7, print))
        try:
            spark_job.run(lambda show: {}["missing"], print)
        except KeyError as error:
            say(str(error))
        """
    )
    child.expect(7)
    child.expect("'missing'")
    child.join()
