/* SPDX-License-Identifier: Apache-2.0
 *
 * Streams that no pool can have are refused: the error names the argument, the value found and what is allowed. The topic
 * works afterwards.
 */
#include <string.h>

#include "frame_topic.h"

static void refused(const slipring_stream *streams, size_t count, const char *argument, const char *text) {
    struct writing w;
    CHECK_CODE(try_writing("t", streams, count, &w), SLIPRING_BAD_ARGUMENT);
    const slipring_error *error = slipring_last_error();
    if (strcmp(error->argument, argument) != 0) FAIL("the error names '%s', not '%s'", error->argument, argument);
    if (strcmp(error->message, text) != 0) FAIL("the error is '%s', not '%s'", error->message, text);
}

static void shapes(void) {
    slipring_stream s = stream_of("main", 1, 2);
    s.dimensions = 0;
    refused(&s, 1, "shape", "shape has 0 dimensions; 1 to 8 are allowed");
    s.dimensions = 9;
    refused(&s, 1, "shape", "shape has 9 dimensions; 1 to 8 are allowed");
    s = stream_of("main", 0, 2);
    refused(&s, 1, "shape",
            "0 elements in dimension 0 of shape; allowed are at least 1 and at most 2**40 bytes in total");
    s = stream_of("main", 1, 2);
    s.item_size = 0;
    refused(&s, 1, "dtype", "the elements of dtype have 0 bytes; at least 1 is required");
}

static void buffers(void) {
    slipring_stream s = stream_of("main", 1, 0);
    refused(&s, 1, "buffers", "stream 'main' has buffers=0; at least 1 is required");
    s.buffers = 65;
    refused(&s, 1, "buffers", "all streams together have at most 64 buffers");
}

static void tables(void) {
    slipring_stream s[17];
    for (size_t i = 0; i < 17; i++) s[i] = stream_of("main", 1, 2);
    refused(s, 17, "streams", "a topic has 1 to 16 streams, not 17");
    refused(s, 2, "streams", "two streams have the name 'main'");
}

static void run(void) {
    shapes();
    buffers();
    tables();
    slipring_stream s = stream_of("main", 16, 2);
    struct writing w = writing("t", &s, 1);
    CHECK_EQ(send_frame(w, 0, 1), 0);
    writing_end(w);
}

int main(int argc, char **argv) { return harness_main(argc, argv, run); }
