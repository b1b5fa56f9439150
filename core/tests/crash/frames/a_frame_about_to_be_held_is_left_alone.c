/* SPDX-License-Identifier: Apache-2.0
 *
 * A reader that has read an announcement and not yet taken hold of its frame does not lose it while the writer has other
 * buffers, however fresh the frame's own one may be in the processor's cache.
 */
#include <string.h>

#include "frame_topic.h"
#include "base/crash_points.h"

#define BUFFERS 4

static struct writing w;
static uint64_t sent;

static void send_more(const char *point) {
    if (strcmp(point, "frame_reader.told")) return;
    slr_crash_point_watch(NULL);
    for (int i = 0; i < BUFFERS - 2; i++) send_frame(w, 0, sent++); /* beside it and the newest */
}

static void run(void) {
    slipring_stream s = stream_of("main", 700, BUFFERS);
    w = writing("t", &s, 1);
    struct reading r = reading("t", READING(.start = SLIPRING_START_NEW));
    for (int round = 0; round < 100; round++) {
        slipring_frame frame;
        uint64_t next = sent;
        send_frame(w, 0, sent++);
        slr_crash_point_watch(send_more);
        CHECK(take_frame(r, &frame));
        CHECK_EQ(read_stamp(&frame), next);
        release_frame(r, &frame);
        while (take_frame(r, &frame)) release_frame(r, &frame);
        CHECK_EQ(frame_counts(r).lost, 0);
    }
    reading_end(r);
    writing_end(w);
}

int main(int argc, char **argv) { return harness_main(argc, argv, run); }
