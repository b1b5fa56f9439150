# SPDX-License-Identifier: Apache-2.0
"""How survivors' pauses, rates and latencies are worked out from evidence."""

import honest_evidence as honest
import pytest

from demo import timings
from storm.strikes import Strike

MS = honest.MS


def pauses_ms(evidence) -> dict[tuple[str, str], float]:
    return {(pause.name, pause.victim): pause.pause_s * 1e3 for pause in timings.survivor_pauses(evidence)}


def test_a_pause_is_what_goes_beyond_the_survivors_own_period():
    found = pauses_ms(honest.make())
    assert found["imu-left", "actuator"] == pytest.approx(9)  # from 20 to 30 ms, with a period of 1 ms
    assert found["commander", "actuator"] == pytest.approx(0)  # the same, with a period of 10 ms


def test_a_survivor_whose_feeds_were_away_is_not_asked():
    found = pauses_ms(honest.make())
    assert ("recorder", "actuator") in found
    assert ("recorder", "imu-left") not in found


def test_a_survivor_that_was_paused_itself_is_not_asked():
    evidence = honest.make()
    evidence.strikes.append(Strike("bob", 10, "pause", 20 * MS, 28 * MS))
    assert ("bob", "actuator") not in pauses_ms(evidence)


def test_quiet_moments_lie_half_way_between_strikes():
    found = {pause.name: pause.pause_s * 1e3 for pause in timings.quiet_pauses(honest.make())}
    assert found["bob"] == pytest.approx(50)  # at 35 ms: from 30 to its end at 100 ms, with a period of 20 ms
    assert "balance" not in found  # its feed is killed before it shows a sign of life again


def test_rates_count_messages_by_the_time_they_were_sent_and_none_from_before_the_run():
    evidence = honest.make()
    evidence.began_ns = 20 * MS
    assert timings.rates(evidence, "imu", 0.04) == [pytest.approx(3 / 0.04), pytest.approx(4 / 0.04)]


def test_latencies_are_from_send_to_receive():
    assert list(timings.latencies_us(honest.make(), "imu")) == [1000.0] * 9
    assert timings.percentile([1.0, 2.0, 3.0, 4.0], 50) == 3.0
    assert timings.percentile([], 50) == 0.0


def test_the_successors_first_deed_ends_the_absence():
    assert timings.returns_ms(honest.make()) == [pytest.approx(-15), pytest.approx(5)]


def test_losses_add_up_over_all_lives_of_a_reader():
    evidence = honest.make()
    evidence.lives.append(honest.story("logger", 14, *honest.life(evidence, 5).records.tolist()))
    assert timings.losses(evidence, "logger")[-1][1:] == (2, 2)
