# SPDX-License-Identifier: Apache-2.0
"""The public names are a reviewed list: a name added, lost or renamed has to change this test."""

import inspect

import pytest

import slipring

CLASSES = {
    "Bus", "Publisher", "Subscriber", "PatternSubscriber", "Member", "Message", "Cells", "CellsReader", "CellsWriter",
    "Frames", "Frame", "FramePublisher", "FrameSubscriber", "Server", "Client",
}  # fmt: skip
FUNCTIONS = {"wait", "current_call"}
ERRORS = {
    "SlipringError", "TopicNotFound", "TopicExists", "TopicGone", "WrongLayout", "Corrupt", "Denied", "Busy",
    "Full", "TooLarge", "Timeout", "Closed", "PeerGone", "RemoteError", "TooManyReaders", "TooManyWriters",
    "ForkedHandle", "BadArgument", "NoSpace", "SystemFault", "UnknownMethod", "BadArguments",
    "SchemaMismatch", "Undecodable", "MissingExtra",
}  # fmt: skip


def test_the_exported_names_are_exactly_these():
    assert set(slipring.__all__) - {"__version__"} == CLASSES | FUNCTIONS | ERRORS
    assert len(slipring.__all__) == len(set(slipring.__all__))


def test_nothing_public_is_left_out_of_the_list():
    public = {
        name
        for name in dir(slipring)
        if not name.startswith("_") and not inspect.ismodule(getattr(slipring, name))
    }
    assert public - {"annotations"} == CLASSES | FUNCTIONS | ERRORS


@pytest.mark.parametrize("name", sorted(CLASSES | FUNCTIONS | ERRORS))
def test_each_name_has_its_public_address_and_a_docstring(name):
    value = getattr(slipring, name)
    assert value.__module__ == "slipring"
    assert value.__name__ == name
    assert value.__doc__ or name in ERRORS


def test_the_error_tree_is_drawn_in_the_docstring_of_its_module():
    for name in ERRORS:
        assert name in slipring.errors.__doc__


METHODS = {
    "Bus": "create publisher subscriber join cells frames server client topics contents stats remove cursors "
    "drop_cursor doctor close name root path",
    "Publisher": "send send_many loan wait_for_subscribers close sender topic closed",
    "Subscriber": "recv recv_many recv_batch recv_into view arecv seek commit stats close "
    "lost filtered received lag position topic closed attached",
    "PatternSubscriber": "recv recv_many recv_batch recv_into view arecv seek commit stats close topics "
    "lost filtered received lag closed attached",
    "Member": "send recv recv_many close lost",
    "Cells": "writer reader stats depth dtype shape size name",
    "CellsWriter": "put slot close closed",
    "CellsReader": "snapshot latest wait received lost skipped position close closed",
    "Server": "method start run serve close closed stats service",
    "Client": "call acall stream astream within wait_for_server close closed stats timeout service",
    "Message": "body sender type seq time_ns topic",
}


@pytest.mark.parametrize("name", METHODS)
def test_each_class_has_its_documented_methods_with_a_docstring(name):
    for method in METHODS[name].split():
        value = getattr(getattr(slipring, name), method, None)
        if value is None:  # set on the instance: only its annotation can be checked here
            assert method in {"name", "root", "path", "service"}, f"{name}.{method} is missing"
        else:
            assert value.__doc__ or not callable(value), f"{name}.{method} has no docstring"


def test_the_settings_of_a_topic_are_spelled_as_documented():
    settings = {"capacity", "slots", "delivery", "writers", "mode", "exist_ok"}
    limits = {"max_readers", "max_writers", "max_cursors"}
    assert settings | limits <= set(inspect.signature(slipring.Bus.create).parameters)
    options = {"start", "lossy", "cursor", "conflate", "types", "ignore_types", "ignore_senders", "expires"}
    assert options <= set(inspect.signature(slipring.Bus.subscriber).parameters)
