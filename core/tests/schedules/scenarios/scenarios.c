/* SPDX-License-Identifier: Apache-2.0 */
#include "schedules.h"

#define SCENARIOS(X)                                                                                       \
    X(lossy_many_copy) X(lossy_many_held) X(lossy_many_batch) X(lossy_many_slots) X(loans_many)            \
    X(reliable_many_copy) X(reliable_many_held) X(reliable_many_waiting) X(reliable_joining)               \
    X(sleep_and_wake_many) X(runs_many) X(runs_many_slots) X(columns_one) X(lossy_one_copy) X(lossy_one_held) X(reliable_one_batch) X(sleep_and_wake_one) X(sleep_and_removal) \
    X(cells_of_one) X(cells_of_two) X(cells_newest) X(cells_sleep_and_wake) X(frames_of_one) X(frames_of_two)

#define LITMUS_TESTS(X)                                                                                  \
    X(litmus_dekker_relaxed) X(litmus_dekker_fences) X(litmus_dekker_weak_fences) X(litmus_dekker_seq_cst) \
    X(litmus_message_by_nothing) X(litmus_message_by_orders) X(litmus_message_by_fences)                 \
    X(litmus_message_without_release) X(litmus_message_without_acquire) X(litmus_coherence)              \
    X(litmus_observers_acquiring) X(litmus_observers_agreeing)

#define DECLARE(name) extern const struct scenario scenario_##name;
SCENARIOS(DECLARE)
LITMUS_TESTS(DECLARE)
#define LIST(name) &scenario_##name,
const struct scenario *const scenarios[] = {SCENARIOS(LIST) LITMUS_TESTS(LIST) NULL};
