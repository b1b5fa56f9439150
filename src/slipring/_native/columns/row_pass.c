/* SPDX-License-Identifier: Apache-2.0
 *
 * The rows are taken in blocks that stay in the first-level cache while leaf after leaf is copied. So each row comes from
 * memory once, and the innermost loop has one width and one stride.
 */
#include "columns/row_pass.h"

#include <string.h>

#include "base/defects.h"

#define BLOCK_BYTES 16384

/* Items ----------------------------------------------------------------------------------------------------- */

static void copy_items(uint8_t *to, int64_t to_step, const uint8_t *from, int64_t from_step, int64_t count, int64_t width) {
    if (to_step == width && from_step == width) {
        memcpy(to, from, (size_t)(count * width));
        return;
    }
    switch (width) {
#define EACH(constant)                                                                 \
    case constant:                                                                     \
        for (int64_t i = 0; i < count; i++, to += to_step, from += from_step) memcpy(to, from, constant); \
        return;
        EACH(1)
        EACH(2)
        EACH(4)
        EACH(8)
        EACH(12)
        EACH(16)
        EACH(24)
        EACH(32)
#undef EACH
    }
    for (int64_t i = 0; i < count; i++, to += to_step, from += from_step) memcpy(to, from, (size_t)width);
}

static inline unsigned is_true(const uint8_t *item) { return *item != 0; }

static inline unsigned is_moment(const uint8_t *item) {
    int64_t number;
    memcpy(&number, item, sizeof number);
    return number != INT64_MIN || SLR_DEFECT(not_a_time_is_a_time);
}

/* Appends a bit for each item, and counts the clear ones. Inlined, with its test: one loop for each kind. */
static inline __attribute__((always_inline)) void pack(struct leaf_column *c, const uint8_t *item, int64_t count, int64_t stride,
                                                       unsigned (*test)(const uint8_t *item)) {
    for (int64_t done = 0, step; done < count; done += step, c->at += step) {
        int64_t shift = c->at % 8;
        unsigned byte = shift ? c->data[c->at / 8] : 0;
        step = count - done < 8 - shift ? count - done : 8 - shift;
        for (int64_t i = shift; i < shift + step; i++, item += stride) {
            unsigned bit = test(item);
            byte |= bit << i;
            c->flaws += !bit;
        }
        c->data[c->at / 8] = (uint8_t)byte;
    }
}

static inline bool next_bit(struct leaf_column *c) {
    bool bit = c->data[c->at / 8] >> c->at % 8 & 1;
    c->at++;
    return bit;
}

/* Texts ----------------------------------------------------------------------------------------------------- */

/* Writes a code point in UTF-8 and returns its bytes; 0 if Unicode does not have it. */
static inline int64_t put_utf8(uint8_t *to, uint32_t code) {
    if (code < 0x80) {
        to[0] = (uint8_t)code;
        return 1;
    }
    if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff && !SLR_DEFECT(surrogates_in_columns))) return 0;
    int64_t size = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const uint8_t marks[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (int64_t i = size - 1; i > 0; i--, code >>= 6) to[i] = (uint8_t)(0x80 | (code & 0x3f));
    to[0] = (uint8_t)(marks[size] | code);
    return size;
}

static void put_text(struct leaf_column *c, const uint8_t *item, int64_t width) {
    uint32_t code;
    for (; width >= 4; width -= 4) {
        memcpy(&code, item + width - 4, sizeof code);
        if (code) break;
    }
    for (int64_t i = 0; i + 4 <= width; i += 4) {
        memcpy(&code, item + i, sizeof code);
        int64_t size = put_utf8(c->data + c->at, code);
        c->flaws += !size;
        c->at += size;
    }
}

static void put_bytes(struct leaf_column *c, const uint8_t *item, int64_t width) {
    while (width && !item[width - 1]) width--;
    memcpy(c->data + c->at, item, (size_t)width);
    c->at += width;
}

/* Leaves ---------------------------------------------------------------------------------------------------- */

static void split_items(const struct row_leaf *leaf, struct leaf_column *c, uint8_t *item, int64_t count, int64_t stride) {
    switch (leaf->kind) {
    case LEAF_BITS:
        pack(c, item, count, stride, is_true);
        return;
    case LEAF_VALID:
        pack(c, item, count, stride, is_moment);
        return;
    case LEAF_BYTES:
    case LEAF_TEXT:
        for (int64_t i = 0; i < count; i++, item += stride) {
            (leaf->kind == LEAF_TEXT ? put_text : put_bytes)(c, item, leaf->width);
            *c->ends++ = (int32_t)c->at;
        }
        return;
    default:
        copy_items(c->data + c->at, leaf->width, item, stride, count, leaf->width);
        c->at += count * leaf->width;
    }
}

static void join_items(const struct row_leaf *leaf, struct leaf_column *c, uint8_t *item, int64_t count, int64_t stride) {
    static const int64_t nat = INT64_MIN;
    switch (leaf->kind) {
    case LEAF_BITS:
        for (int64_t i = 0; i < count; i++, item += stride) *item = next_bit(c);
        return;
    case LEAF_VALID:
        for (int64_t i = 0; i < count; i++, item += stride)
            if (!next_bit(c)) memcpy(item, &nat, sizeof nat);
        return;
    default:
        copy_items(item, stride, c->data + c->at, leaf->width, count, leaf->width);
        c->at += count * leaf->width;
    }
}

typedef void items_function(const struct row_leaf *leaf, struct leaf_column *c, uint8_t *item, int64_t count, int64_t stride);

/* The loops from `depth` on, of one row. */
static void walk(const struct row_leaf *leaf, int depth, items_function *items, struct leaf_column *c, uint8_t *item) {
    const struct row_loop *loop = &leaf->loops[depth];
    if (depth == leaf->depth - 1) {
        items(leaf, c, item, loop->count, loop->stride);
        return;
    }
    for (int64_t i = 0; i < loop->count; i++) walk(leaf, depth + 1, items, c, item + i * loop->stride);
}

static void pass(const struct row_leaf *leaves, size_t count, int64_t size, uint8_t *rows, int64_t number,
                 struct leaf_column *columns, items_function *items) {
    for (size_t i = 0; i < count; i++) {
        uint8_t *first = rows + leaves[i].offset;
        if (!columns[i].data) continue;
        if (leaves[i].depth == 0) items(&leaves[i], &columns[i], first, number, size);
        for (int64_t row = 0; leaves[i].depth && row < number; row++) walk(&leaves[i], 0, items, &columns[i], first + row * size);
    }
}

static inline int64_t rows_in_block(int64_t size) { return size < BLOCK_BYTES / 8 ? BLOCK_BYTES / size : 8; }

void rows_split(const struct row_leaf *leaves, size_t count, int64_t size, const uint8_t *rows, int64_t number,
                struct leaf_column *columns) {
    int64_t most = rows_in_block(size);
    for (int64_t row = 0; row < number; row += most)
        pass(leaves, count, size, (uint8_t *)(uintptr_t)rows + row * size, number - row < most ? number - row : most, columns,
             split_items);
}

void rows_join(const struct row_leaf *leaves, size_t count, int64_t size, uint8_t *rows, int64_t number,
               struct leaf_column *columns) {
    int64_t most = rows_in_block(size);
    for (int64_t row = 0; row < number; row += most) {
        int64_t block = number - row < most ? number - row : most;
        memset(rows + row * size, 0, (size_t)(block * size));
        pass(leaves, count, size, rows + row * size, block, columns, join_items);
    }
}
