/* SPDX-License-Identifier: Apache-2.0
 *
 * Frames topics for the tests. Every word of a frame is made from its id and its place, so that a torn, foreign or changed
 * frame is seen.
 */
#ifndef FRAME_TOPIC_H
#define FRAME_TOPIC_H

#include "harness.h"

struct writing {
    slipring_publisher *pub;
    slipring_frame_writer *writer;
};
struct reading {
    slipring_subscriber *sub;
    slipring_frame_reader *reader;
};

slipring_stream stream_of(const char *name, uint64_t words, uint32_t buffers);
int try_writing(const char *topic, const slipring_stream *streams, size_t count, struct writing *out);
struct writing writing(const char *topic, const slipring_stream *streams, size_t count);
void writing_end(struct writing w);

#define READING(...) (&(slipring_frame_reader_settings){__VA_ARGS__})
int try_reading(const char *topic, const slipring_frame_reader_settings *how, struct reading *out);
struct reading reading(const char *topic, const slipring_frame_reader_settings *how);
void reading_end(struct reading r);

void stamp_frame(void *data, size_t size, uint64_t value);
uint64_t read_stamp(const slipring_frame *frame); /* fails if the frame is not whole */

/* Takes, stamps with value, sends; the id. */
uint64_t send_frame(struct writing w, uint32_t stream, uint64_t value);
/* The next frame, or false if there is none. */
bool take_frame(struct reading r, slipring_frame *out);
void release_frame(struct reading r, const slipring_frame *frame);
/* Takes, checks the stamp, releases. */
void expect_frame(struct reading r, uint64_t value);
void expect_no_frame(struct reading r);
slipring_counts frame_counts(struct reading r);

#endif
