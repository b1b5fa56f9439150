# SPDX-License-Identifier: Apache-2.0
"""The real core, one step at a time, in every order within bounds and as C11's memory allows (core/tests/schedules,
docs/reliability/schedules.md): nothing is torn, lost, repeated or reordered, no held byte changes, no wake-up is lost.

Each mistake that is planted, in the orders of atomics.h or in the protocol, is found, and what is printed makes
the same run again."""

import os
import re
import time

import pytest

from support.schedules import CORE, WATCHDOG_S, Build, run

RANDOM_RUNS = 4000
SEARCH = ["--preemptions", "2", "--stale", "1", "--random", "20000"]  # for what is planted
SECONDS = float(os.environ.get("SLIPRING_SCHEDULES_SECONDS", "0"))
LISTED = re.findall(r"X\((\w+)\)", (CORE / "tests/schedules/scenarios.c").read_text())
SCENARIOS = [name for name in LISTED if not name.startswith("litmus_")]
LITMUS = {  # how many outcomes C11 allows; without load buffering, which none of these has
    "litmus_dekker_relaxed": 4,
    "litmus_dekker_fences": 3,
    "litmus_dekker_weak_fences": 4,
    "litmus_dekker_seq_cst": 3,
    "litmus_message_by_nothing": 4,
    "litmus_message_by_orders": 3,
    "litmus_message_by_fences": 3,
    "litmus_message_without_release": 4,
    "litmus_message_without_acquire": 4,
    "litmus_coherence": 3,
    "litmus_observers_acquiring": 16,
    "litmus_observers_agreeing": 15,
}
ORDERS = [  # of atomics.h, weakened; where it is found
    ("publish_relaxed", "sleep_and_wake_one"),
    ("observe_relaxed", "reliable_one_batch"),
    ("swap_relaxed", "lossy_many_copy"),
    ("take_relaxed", "cells_of_one"),
    ("agree_weak", "cells_sleep_and_wake"),
    ("no_fence_full", "lossy_one_held"),
    ("no_fence_full", "sleep_and_wake_one"),
    ("fence_full_acq_rel", "frames_of_one"),
    ("no_fence_before_overwrite", "lossy_many_copy"),
    ("no_fence_after_copy", "lossy_one_copy"),
]
MISTAKES = {  # of the protocol: file, text, what it becomes; where it is found
    "no look at oldest after the copy": (
        "look.h",
        "return slr_peek(&sub->s->ring->oldest) <= seq;",
        "return true;",
        "lossy_one_copy",
    ),
    "a helper stores another end": (
        "claim.c",
        "if (end != right) slr_swap_if(&slot->end, end, right);",
        "if (end != right) slr_swap_if(&slot->end, end, right - 8);",
        "sleep_and_wake_many",
    ),
    "a helper finishes the first of a run alone": (
        "claim.c",
        "count = (want >> 48) + 1;",
        "count = 1;",
        "runs_many",
    ),
    "a helper does not mark the others of a run": (
        "claim.c",
        "if (slr_word_lap(word) != slr_lap(s, seq)) slr_swap_if",
        "if (false) slr_swap_if",
        "runs_many",
    ),
    "tail moves before end is stored": (
        "claim.h",
        "    uint64_t end = start + size;\n    slr_poke(",
        "    slr_swap_if(&s->ring->tail, i, i + count);\n    uint64_t end = start + size;\n    slr_poke(",
        "sleep_and_wake_many",
    ),
    "the size is announced after the claim": (
        "claim.h",
        "    slr_publish(&s->writer[c->entry].want, slr_want(size, count));\n"
        '    SLR_POINT("claim.announced");\n'
        "    if (!slr_swap_if(&slr_slot_of(s, i)->word, word, slr_word(SLR_CLAIMED, c->entry, slr_lap(s, i)))) "
        "return false;\n",
        "    if (!slr_swap_if(&slr_slot_of(s, i)->word, word, slr_word(SLR_CLAIMED, c->entry, slr_lap(s, i)))) "
        "return false;\n"
        "    slr_publish(&s->writer[c->entry].want, slr_want(size, count));\n",
        "sleep_and_wake_many",
    ),
    "sleepers are woken before the message is there": (
        "send.c",
        "    if (!code) code = send_one(pub, body, size, reserved, time_ns ? time_ns : now, seq);\n"
        "    if (!code) slr_wake_readers(pub);\n",
        "    if (!code) slr_will_wake_readers(pub), slr_wake_readers(pub);\n"
        "    if (!code) code = send_one(pub, body, size, reserved, time_ns ? time_ns : now, seq);\n",
        "sleep_and_wake_one",
    ),
    "a sleeper does not look once more": (
        "sleep.c",
        "if (anything(w)) return 0;",
        "if (!anything) return 0;",
        "sleep_and_wake_one",
    ),
    "a sleeper does not look whether the topic was removed": (
        "sleep.c",
        " ||\n                slr_peek(&w->subs[i]->s->ring->removed);",
        ";",
        "sleep_and_removal",
    ),
    "writers trust oldest": (
        "claim.c",
        "uint64_t freed = slr_observe(&s->ring->freed), start = slr_start_of(s, freed);",
        "uint64_t freed = slr_observe(&s->ring->oldest), start = slr_start_of(s, freed);",
        "lossy_many_held",
    ),
    "nobody looks at the holds": (
        "reclaim.c",
        "uint64_t limit = lowest_hold(s, false, check_lives, oldest);",
        "uint64_t limit = oldest;\n    (void)check_lives;",
        "lossy_one_held",
    ),
    "the hold is published after the check": (
        "hold.c",
        '        slr_hold_publish(sub);\n        SLR_POINT("hold.published");\n',
        "",
        "lossy_one_held",
    ),
    "a reliable reader joins without a hold": (
        "subscriber.c",
        "reliable ? 0 : SLR_NO_HOLD",
        "reliable ? SLR_NO_HOLD : SLR_NO_HOLD",
        "reliable_joining",
    ),
    "a live writer's claim is passed over": (
        "look.c",
        "if (!slr_writer_dead(s, slr_word_writer(word))) return SLR_OPEN_CLAIM;",
        "",
        "lossy_many_copy",
    ),
    "a frame is not looked at after its bit is set": (
        "frame_hold.c",
        "slr_fence_full(); /* partner: the fence in claim (frame_buffers.c) */\n    if (slr_observe(word) != sent) {",
        "slr_fence_full();\n    if (false) {",
        "frames_of_one",
    ),
    "the writer gets a cell that is the reader's": (
        "cells.c",
        ".get = taken ? kept : there, .keep = taken ? there : kept}",
        ".get = there, .keep = kept}",
        "cells_of_one",
    ),
}

DEATHS = {  # what a death would cost: as above
    "a publisher makes no will": (
        "publisher.h",
        "slr_will_make(&pub->s->readers->orphan);",
        "slr_will_make(&pub->s->readers->space);",
        "sleep_and_wake_one",
    ),
    "a will is revoked before the wake-up": (
        "publisher.h",
        "    slr_fence_full();\n",
        "    slr_will_revoke();\n    slr_fence_full();\n",
        "sleep_and_wake_many",
    ),
    "who falls asleep does not look at the slot": (
        "sleep.c",
        "words[count++] = slr_word_of(slot, (uint32_t)slr_peek(slot));",
        "(void)slot;",
        "sleep_and_wake_one",
    ),
    "a writer of cells makes no will": (
        "cells_ends.c",
        "slr_will_make(&w->c->header->orphan);",
        "slr_will_make(&w->c->header->writer_pid);",
        "cells_sleep_and_wake",
    ),
}


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    return Build(tmp_path_factory.mktemp("schedules"))


def replayed(program, report):
    """What a run gives that is made again by the line printed."""
    return run(program, *re.search(r"replay: schedules (.+)", report)[1].split()).stdout


def kept(program, scenario, *words):
    done = run(program, scenario, *words)
    print(done.stdout)
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"
    return done.stdout


def found(program, scenario, *words):
    done = run(program, scenario, *words, *SEARCH)
    assert done.returncode == 1, f"not found: {done.stdout}{done.stderr}"
    assert "FAILED" in done.stdout, done.stdout
    print(done.stdout)
    assert done.stdout.endswith(replayed(program, done.stdout))


@pytest.mark.timeout(WATCHDOG_S)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_no_order_of_steps_breaks_what_is_promised(build, scenario):
    report = kept(build.program, scenario, "--random", RANDOM_RUNS)
    assert ", complete" in report
    assert "NOT COMPLETE" not in report


@pytest.mark.parametrize("program", LITMUS)
def test_memory_shows_what_c11_lets_it_show_and_all_of_it(build, program):
    report = kept(build.program, program)
    assert int(re.search(r"(\d+) outcomes so far.* complete", report)[1]) == LITMUS[program]


@pytest.mark.timeout(WATCHDOG_S)
@pytest.mark.parametrize(("order", "scenario"), ORDERS)
def test_an_order_that_is_too_weak_is_found(build, order, scenario):
    found(build.program, scenario, "--planted", order)


@pytest.mark.timeout(WATCHDOG_S)
@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_the_protocol_is_found(build, tmp_path, mistake):
    file, before, after, scenario = MISTAKES[mistake]
    found(build.planted(tmp_path, file, before, after), scenario)


@pytest.mark.timeout(WATCHDOG_S)
@pytest.mark.parametrize("mistake", DEATHS)
def test_a_death_that_wakes_nobody_is_found(build, tmp_path, mistake):
    file, before, after, scenario = DEATHS[mistake]
    found(build.planted(tmp_path, file, before, after), scenario, "--deaths", "1")


if SECONDS:  # make schedules

    @pytest.mark.timeout(0)
    @pytest.mark.parametrize("scenario", SCENARIOS)
    def test_no_order_of_steps_found_in_longer_searches_breaks_what_is_promised(build, scenario):
        share = SECONDS / len(SCENARIOS) / 3
        for bounds in ("--preemptions 3 --stale 1", "--preemptions 2 --stale 1 --deaths 1"):
            kept(build.program, scenario, *bounds.split(), "--seconds", share)
        kept(
            build.program,
            scenario,
            "--preemptions",
            0,
            "--random",
            10**12,
            "--seed",
            int(time.time()),
            "--seconds",
            share,
        )
