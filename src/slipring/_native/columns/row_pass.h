/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of a fixed layout as columns, and back, in one pass. A leaf is a field whose items have fixed places in a row: the
 * offset of the first item, and loops for the others, outermost first. The rows are one more loop around them. The memory of
 * a column is dense. The caller checks that leaves are inside the rows, and that columns have room.
 */
#ifndef SLIPRING_ROW_PASS_H
#define SLIPRING_ROW_PASS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* name in C, in Python */
#define LEAF_KINDS(X)                                                    \
    X(COPY, "copy")   /* the same bytes in the column */                 \
    X(BITS, "bits")   /* a bit for each byte: whether it is not zero */  \
    X(VALID, "valid") /* a bit for each int64: whether it is not NaT */  \
    X(BYTES, "bytes") /* Arrow binary: without the zeros at the end */   \
    X(TEXT, "text")   /* Arrow utf8, of UTF-32 without zeros at the end */

enum leaf_kind {
#define NAME(name, text) LEAF_##name,
    LEAF_KINDS(NAME)
#undef NAME
        LEAF_KIND_COUNT
};

struct row_loop {
    int64_t count, stride;
};

struct row_leaf {
    enum leaf_kind kind;
    int depth;
    int64_t offset, width; /* of one item, in bytes */
    int64_t items;         /* in a row: the product of the counts */
    struct row_loop *loops;
};

struct leaf_column {
    uint8_t *data; /* not written by rows_join; NULL there: the leaf stays zero */
    int64_t at;    /* the next bit of bits and valid; the next byte of others */
    int32_t *ends; /* of bytes and text: the next entry of Arrow's offsets */
    int64_t flaws; /* NaT; characters that Unicode does not have */
};

static inline bool leaf_has_bits(const struct row_leaf *leaf) { return leaf->kind == LEAF_BITS || leaf->kind == LEAF_VALID; }
static inline bool leaf_has_ends(const struct row_leaf *leaf) { return leaf->kind == LEAF_BYTES || leaf->kind == LEAF_TEXT; }

void rows_split(const struct row_leaf *leaves, size_t count, int64_t size, const uint8_t *rows, int64_t number,
                struct leaf_column *columns);
/* Bytes outside of the leaves become zero. Leaves are of kind copy, bits and valid; a leaf overwrites those before it. */
void rows_join(const struct row_leaf *leaves, size_t count, int64_t size, uint8_t *rows, int64_t number,
               struct leaf_column *columns);

#endif
