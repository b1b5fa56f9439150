# SPDX-License-Identifier: Apache-2.0
"""What every test directory shares. Import as ``from support.processes import Process`` and so on.

Fixtures (tests/conftest.py)
    bus_root    Path of an empty bus root under /dev/shm, removed after the test; leftovers other than whole
                topics in it fail the test (unless it is marked ``@pytest.mark.foreign_files``).
    bus         ``slipring.Bus("test", root=bus_root)``, closed after the test.
    processes   ``Processes``: starts real Python processes with the same ``bus`` open; kills what is left.
    background  runs functions in threads: ``call = background(fn, *args)``; ``call.result()``.
A test marked ``@pytest.mark.leaks_allowed(reason)`` is not followed by the leak check.

support.processes   Process, Processes: the harness, see its head.
support.child       what runs inside a started process: ``bus``, ``say``, ``hear``.
support.waiting     eventually(condition), wait_until_asleep(pid, tid), Call: synchronisation without sleeps.
support.calling     Gate, offer_usual: methods that most tests of calls need.
support.model       TopicModel, ReaderModel: what the documents promise, in plain Python (properties).
support.spin        verify(model, place): core/models, searched whole.
support.core_build  program(variant, name): a C test program, built on demand; the Python package with planted defects.
support.defects     the planted defects (tests/prove/defects) and the checks that must find each.
support.planted     package(place, name): a copy of the Python package with one of its named defects.
support.order       which tests share a process, and which begin first.
support.rings       the smallest ring, and a function that fills one.
support.tiers       kills(everything, few): what `make prove` goes through, and what `make test` does.
support.spark       a Spark session that starts fast, and the same for programs.
support.patience    how long watchdogs wait.
support.browser     Browser, Tab: pages in headless Chromium, on screens of two sizes, light and dark.
support.leaks       Snapshot: descriptors, mappings, children, threads and files, compared around every test.
"""
