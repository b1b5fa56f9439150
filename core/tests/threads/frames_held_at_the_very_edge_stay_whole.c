/* SPDX-License-Identifier: Apache-2.0
 *
 * Promise 22 where it is hardest: few buffers, a writer that never rests, readers that take hold of a frame at the moment
 * it is written over. They get it whole and unchanged, or count it as lost; the writer waits for nobody. Roles are threads
 * over one mapping, for TSAN; as plain processes would see it, for the stamps.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "frame_topic.h"

#define READERS 3
#define WORDS 40

static struct writing w;
static atomic_uint_fast64_t readers_left = READERS, sent;

static void *write_on(void *unused) {
    (void)unused;
    while (atomic_load(&readers_left)) {
        slipring_frame_buffer buffer;
        uint64_t id, seq;
        int code = slipring_frame_writer_take(w.writer, 0, &buffer);
        if (code == SLIPRING_FULL) {
            sched_yield();
            continue;
        }
        CHECK_OK(code);
        stamp_frame(buffer.data, buffer.size, atomic_load(&sent));
        if (atomic_load(&sent) % 16 == 15) {
            CHECK_OK(slipring_frame_writer_abort(w.writer, buffer.buffer));
            CHECK_OK(slipring_frame_writer_take(w.writer, 0, &buffer));
            stamp_frame(buffer.data, buffer.size, atomic_load(&sent));
        }
        CHECK_OK(slipring_frame_writer_send(w.writer, buffer.buffer, &(slipring_frame_message){0}, &id, &seq));
        CHECK_EQ(id, atomic_load(&sent));
        atomic_fetch_add(&sent, 1);
    }
    return NULL;
}

static void *take_and_look(void *argument) {
    struct reading r = *(struct reading *)argument;
    /* Scarce: a reader that is interrupted while it holds a frame delays all others. On a busy machine
     * this takes long. */
    uint64_t frames = scaled(harness_argument("scarce") ? 20000 : 100000), next = 0;
    while (frames) {
        slipring_frame frame;
        if (!take_frame(r, &frame)) {
            sched_yield();
            continue;
        }
        for (int again = 0; again < 4; again++) CHECK_EQ(read_stamp(&frame), frame.id);
        CHECK(frame.id >= next);
        next = frame.id + 1;
        release_frame(r, &frame);
        frames--;
        slipring_counts c = frame_counts(r);
        if (c.received + c.lost + c.filtered != next)
            FAIL("%llu received, %llu lost, %llu filtered: not %llu", (unsigned long long)c.received, (unsigned long long)c.lost,
                 (unsigned long long)c.filtered, (unsigned long long)next);
    }
    reading_end(r);
    atomic_fetch_sub(&readers_left, 1);
    return NULL;
}

static void run(void) {
    pthread_t threads[READERS + 1];
    struct reading readers[READERS];
    slipring_stream s = stream_of("main", WORDS, harness_argument("scarce") ? 2 : 5);
    w = writing("t", &s, 1);
    for (int i = 0; i < READERS; i++) readers[i] = reading("t", READING(.conflate = i == 0));
    for (int i = 0; i < READERS; i++) pthread_create(&threads[i], NULL, take_and_look, &readers[i]);
    pthread_create(&threads[READERS], NULL, write_on, NULL);
    for (int i = 0; i <= READERS; i++) pthread_join(threads[i], NULL);
    writing_end(w);
}

int main(int argc, char **argv) { return harness_main(argc, argv, run); }
