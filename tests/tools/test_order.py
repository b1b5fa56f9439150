# SPDX-License-Identifier: Apache-2.0
"""The files that the order of the tests names are there: a renamed one would lose its place unnoticed."""

from types import SimpleNamespace

import pytest

from support import order
from support.core_build import REPOSITORY


@pytest.mark.parametrize("name", [*order.LONGEST_FIRST, *order.EACH_TEST_A_GROUP])
def test_a_name_in_the_order_is_a_file_or_a_shared_fixture(name):
    assert name in order.SHARED.values() or (REPOSITORY / name).is_file()


def test_a_shared_fixture_brings_its_tests_into_one_group(request):
    class Item:
        fixturenames = ("bus", "spark")
        path, config, nodeid = request.path, request.config, "x::y"

    assert order._group(Item()) == order.SHARED["spark"]
    Item.fixturenames = ("bus",)
    assert order._group(Item()) == "tests/tools/test_order.py"


def run_of(dist):
    return SimpleNamespace(getoption={"dist": dist}.get)


def test_a_run_whose_groups_are_ignored_ends_with_what_to_install():
    with pytest.raises(pytest.exit.Exception, match=r"ignore groups: 'a.py::x\[1@2\]' has none; install"):
        order.check_groups(run_of("loadgroup"), ["a.py::x[0]@the Spark session", "a.py::x[1@2]"])


def test_a_run_with_groups_or_without_any_distribution_by_them_goes_on():
    order.check_groups(run_of("loadgroup"), ["a.py::x[0]@the Spark session", "a.py::y@a.py"])
    order.check_groups(run_of("no"), ["a.py::x[0]"])
