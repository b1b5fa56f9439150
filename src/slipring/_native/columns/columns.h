/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages as Arrow columns. A batch is filled row by row and exported through the Arrow C data interface as two PyCapsules.
 * pyarrow is not needed to build this.
 */
#ifndef SLIPRING_COLUMNS_H
#define SLIPRING_COLUMNS_H

#include "native.h"

/* name in C, in Arrow, format: "l" 64-bit integer, "u" text, "z" bytes, "tsu:UTC" microseconds */
#define COLUMN_LIST(X)                     \
    X(TOPIC, "topic", "u")                 \
    X(OFFSET, "offset", "l")               \
    X(TIMESTAMP, "timestamp", "tsu:UTC")   \
    X(TIMESTAMP_NS, "timestamp_ns", "l")   \
    X(SENDER, "sender", "u")               \
    X(TYPE, "type", "u")                   \
    X(VALUE, "value", "z")                 \
    X(HOST, "host", "u")                   \
    X(GENERATION, "generation", "l")       \
    X(SPAN, "span", "l")                   \
    X(LOST, "lost", "l")                   \
    X(RECEIVED_NS, "received_ns", "l")

enum column {
#define NAME(name, text, format) COLUMN_##name,
    COLUMN_LIST(NAME)
#undef NAME
        COLUMNS
};
#define COLUMN_BIT(name) (1u << COLUMN_##name)

#define BATCH_TOO_SMALL "the next message is larger than 1 GiB, the most an Arrow batch can hold: receive it with recv or view"

struct bytes_column {
    int32_t *ends; /* ends[0] = 0 */
    char *data;
    int64_t used, room;
};

/* Rows from `row` on have this type and sender, as valid UTF-8, until the next run. Most batches have one run. */
struct run {
    int64_t row;
    struct meta meta;
    char names[SLIPRING_MAX_TYPE + SLIPRING_MAX_SENDER];
};

struct batch {
    unsigned asked; /* COLUMN_BITs */
    bool nullable;
    int64_t rows, limit;
    bool no_memory;
    int64_t *numbers[COLUMNS]; /* NULL: not requested, or not a column of numbers */
    struct bytes_column texts[COLUMNS];
    int64_t *holes; /* numbers of rows that are holes */
    int64_t hole_count, hole_room;
    bool run_begun;
    struct run run;
};

struct batch_constants { /* the same in every row */
    const char *topic, *host;
    int64_t generation, received_ns;
};

/* expected: bytes of bodies in the last batch, so that most batches need not grow. */
bool batch_start(struct batch *b, unsigned asked, int64_t limit, int64_t expected);
void batch_free(struct batch *b);
/* Adds one row. False if no batch has room for it (rows is then 0), if this one has none, or without memory. */
bool batch_take(struct batch *b, const slipring_message *m);
/* Adds the next messages with the type and sender of the last row, at most `most`; false if there is none. */
bool batch_take_run(struct batch *b, slipring_subscriber *sub, int64_t most);
bool batch_take_hole(struct batch *b, uint64_t first, uint64_t span, uint64_t lost);
/* Keeps the first rows only: the messages of the others were overwritten while they were copied. */
void batch_cut(struct batch *b, int64_t rows);
/* (schema, array), or NULL with an exception. */
PyObject *batch_hand_over(struct batch *b, const struct batch_constants *constants);

static inline int64_t batch_bytes(const struct batch *b) { return b->texts[COLUMN_VALUE].used; }

/* Bytes of the last row's body. */
static inline int64_t batch_last_bytes(const struct batch *b) {
    const int32_t *ends = b->texts[COLUMN_VALUE].ends;
    return ends && b->rows ? ends[b->rows] - ends[b->rows - 1] : 0;
}

/* columns/arrow_capsules.c: takes over three buffers for each column: validity, first, second (NULL where there is none). */
struct column_buffers {
    enum column column;
    void *buffers[3];
    int64_t nulls;
};
PyObject *arrow_capsules(int64_t rows, bool nullable, struct column_buffers *columns, int count);

#endif
