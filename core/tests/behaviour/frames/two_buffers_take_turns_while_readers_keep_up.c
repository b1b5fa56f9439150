/* SPDX-License-Identifier: Apache-2.0
 *
 * A writer whose readers are at most a frame behind and keep nothing fills the same two buffers again and again, which the
 * processor still has in its cache, however many there are; and nothing is lost by that.
 */
#include "frame_topic.h"

#define BUFFERS 8

static void run(void) {
    uint64_t used = 0; /* a bit for each buffer */
    slipring_stream s = stream_of("main", 700, BUFFERS);
    struct writing w = writing("t", &s, 1);
    struct reading readers[] = {reading("t", READING(.start = SLIPRING_START_NEW)), reading("t", READING(.start = SLIPRING_START_NEW))};
    send_frame(w, 0, 0);
    for (uint64_t i = 0; i < 100; i++) {
        send_frame(w, 0, i + 1);
        for (int r = 0; r < 2; r++) {
            slipring_frame frame;
            CHECK(take_frame(readers[r], &frame));
            CHECK_EQ(read_stamp(&frame), i);
            if (i > 1) used |= UINT64_C(1) << (frame.token & 63);
            release_frame(readers[r], &frame);
        }
    }
    CHECK_EQ(__builtin_popcountll(used), 2);
    for (int r = 0; r < 2; r++) {
        CHECK_EQ(frame_counts(readers[r]).lost, 0);
        reading_end(readers[r]);
    }
    writing_end(w);
}

int main(int argc, char **argv) { return harness_main(argc, argv, run); }
