/* SPDX-License-Identifier: Apache-2.0
 *
 * The memory of memory.h itself: small programs of which it is known what C11 lets them see. tests/prove/test_schedules.py
 * knows how many outcomes each must have, no more and no fewer.
 */
#include "memory.h"
#include "schedules.h"

static struct words {
    _Alignas(64) uint64_t x;
    _Alignas(64) uint64_t y;
} *shared;
static uint64_t saw[4];

static void setup(void) { shared = kernel_memory(sizeof *shared); }

static void judge(void) {
    for (int i = 0; i < 4; i++) schedules_outcome(saw[i] + 1);
}

static void put(uint64_t *word, enum order order) { memory_store(word, 8, 1, order); }
static uint64_t get(const uint64_t *word, enum order order) { return memory_load(word, 8, order); }

#define LITMUS(title, count, ...)                                                                                 \
    extern const struct scenario scenario_##title;                                                                \
    const struct scenario scenario_##title = {.name = #title, .setup = setup, .judge = judge, .threads = count,   \
                                              .role = {__VA_ARGS__}, .all = {{3, 3, 0}}}

/* Store, then load the other's (Dekker). */
#define STORE_LOAD(name, order, fence)          \
    static void name##_x(void) {                \
        put(&shared->x, order);                 \
        fence;                                  \
        saw[0] = get(&shared->y, order);        \
    }                                           \
    static void name##_y(void) {                \
        put(&shared->y, order);                 \
        fence;                                  \
        saw[1] = get(&shared->x, order);        \
    }                                           \
    LITMUS(litmus_dekker_##name, 2, name##_x, name##_y)
STORE_LOAD(relaxed, RELAXED, (void)0);
STORE_LOAD(fences, RELAXED, memory_fence(SEQ_CST));
STORE_LOAD(weak_fences, RELAXED, memory_fence(ACQ_REL));
STORE_LOAD(seq_cst, SEQ_CST, (void)0);

/* Data, then a flag (message passing). */
#define MESSAGE(name, publish, before, observe, after) \
    static void name##_sends(void) {                   \
        put(&shared->x, RELAXED);                      \
        before;                                        \
        put(&shared->y, publish);                      \
    }                                                  \
    static void name##_reads(void) {                   \
        saw[0] = get(&shared->y, observe);             \
        after;                                         \
        saw[1] = get(&shared->x, RELAXED);             \
    }                                                  \
    LITMUS(litmus_message_##name, 2, name##_sends, name##_reads)
MESSAGE(by_nothing, RELAXED, (void)0, RELAXED, (void)0);
MESSAGE(by_orders, RELEASE, (void)0, ACQUIRE, (void)0);
MESSAGE(by_fences, RELAXED, memory_fence(RELEASE), RELAXED, memory_fence(ACQUIRE));
MESSAGE(without_release, RELAXED, (void)0, ACQUIRE, (void)0);
MESSAGE(without_acquire, RELEASE, (void)0, RELAXED, (void)0);

/* One place read twice does not go back. */
static void writes_x(void) { put(&shared->x, RELAXED); }
static void reads_x_twice(void) {
    saw[0] = get(&shared->x, RELAXED);
    saw[1] = get(&shared->x, RELAXED);
}
LITMUS(litmus_coherence, 2, writes_x, reads_x_twice);

/* Two writers, and two readers who may disagree about which was first unless all is sequentially consistent. */
#define OBSERVERS(name, store, load)                                       \
    static void name##_write_x(void) { put(&shared->x, store); }           \
    static void name##_write_y(void) { put(&shared->y, store); }           \
    static void name##_read_xy(void) {                                     \
        saw[0] = get(&shared->x, load);                                    \
        saw[1] = get(&shared->y, load);                                    \
    }                                                                      \
    static void name##_read_yx(void) {                                     \
        saw[2] = get(&shared->y, load);                                    \
        saw[3] = get(&shared->x, load);                                    \
    }                                                                      \
    LITMUS(litmus_observers_##name, 4, name##_write_x, name##_write_y, name##_read_xy, name##_read_yx)
OBSERVERS(acquiring, RELEASE, ACQUIRE);
OBSERVERS(agreeing, SEQ_CST, SEQ_CST);
