/* SPDX-License-Identifier: Apache-2.0
 *
 * The memory of cells: one file, described normatively in docs/spec/cells-layout.md.
 *
 *   <name>.cells      header page | slots | cells
 *
 * As in layout.h, SLR_CELLS_LAYOUT pins every field; its hash is stored in each file.
 */
#ifndef SLR_TOPIC_CELLS_LAYOUT_H
#define SLR_TOPIC_CELLS_LAYOUT_H

#include "topic/layout.h"

#define SLR_CELLS_MAGIC 0x314c454350494c53ull /* "SLIPCEL1" */
#define SLR_CELLS_SLOT_SIZE 64u
#define SLR_CELLS_LINE 64u /* cells begin on cache lines of their own */
#define SLR_CELLS_FORMAT_SIZE 2048u

/* The word of a slot: taken (1 bit), cell (cell_bits), lap (the other bits). cell_bits is the width of the highest cell number,
 * so the lap has at least 2^61 / depth values: see cells.c. */
#define SLR_CELLS_TAKEN 1ull

/* An intent: three cell numbers of 21 bits. */
#define SLR_CELLS_NUMBER_BITS 21u

struct slr_cells_header {
    /* Written once by the creator, before the file has a name. */
    uint64_t magic;
    uint32_t version;
    uint32_t page_size;
    uint64_t layout_hash;
    uint64_t generation;
    uint64_t file_size;
    uint32_t depth;
    uint32_t cell_count; /* 2 * depth + 1 */
    uint64_t item_size;  /* bytes of an element */
    uint64_t cell_stride;
    uint64_t slots_offset;
    uint64_t cells_offset;
    uint32_t creator_pid;
    uint32_t format_size;
    int64_t created_ns;
    uint8_t boot_id[16];
    /* Written by the process that removes the cells. */
    alignas(64) _Atomic uint64_t removed;
    /* Written by the writer; its lock is on the first byte. */
    alignas(64) _Atomic uint64_t turn;  /* the sequence of the current or last put */
    _Atomic uint64_t intent[2];         /* the intent of that put, indexed by the parity of the sequence */
    _Atomic uint32_t writer_pid;        /* for inspection only; 0: none */
    /* Written by the reader; its lock is on the first byte. */
    alignas(64) _Atomic uint64_t position; /* every sequence below was received, skipped or lost */
    _Atomic uint64_t received;
    _Atomic uint64_t skipped; /* older elements skipped by take_newest */
    _Atomic uint32_t reader_pid;
    /* Futex of the waiting reader (futex.h). */
    alignas(64) _Atomic uint32_t wake;
    _Atomic uint32_t death_wake; /* always 0 (death_wake.h) */
    /* Description of the elements for their users: zero-padded text. Written once by the creator. */
    alignas(2048) uint8_t format[SLR_CELLS_FORMAT_SIZE];
};

struct slr_cells_slot {
    _Atomic uint64_t word; /* {taken, cell, lap}: the writer swaps it, the reader sets the taken bit */
    _Atomic uint64_t kept; /* a cell: owned by the reader while not taken, available to the writer once taken; only the writer accesses the field */
    uint8_t unused[48];
};

/* X(structure, field, offset, size) */
#define SLR_CELLS_LAYOUT(X)                \
    X(cells_header, magic, 0, 8)           \
    X(cells_header, version, 8, 4)         \
    X(cells_header, page_size, 12, 4)      \
    X(cells_header, layout_hash, 16, 8)    \
    X(cells_header, generation, 24, 8)     \
    X(cells_header, file_size, 32, 8)      \
    X(cells_header, depth, 40, 4)          \
    X(cells_header, cell_count, 44, 4)     \
    X(cells_header, item_size, 48, 8)      \
    X(cells_header, cell_stride, 56, 8)    \
    X(cells_header, slots_offset, 64, 8)   \
    X(cells_header, cells_offset, 72, 8)   \
    X(cells_header, creator_pid, 80, 4)    \
    X(cells_header, format_size, 84, 4)    \
    X(cells_header, created_ns, 88, 8)     \
    X(cells_header, boot_id, 96, 16)       \
    X(cells_header, removed, 128, 8)       \
    X(cells_header, turn, 192, 8)          \
    X(cells_header, intent, 200, 16)       \
    X(cells_header, writer_pid, 216, 4)    \
    X(cells_header, position, 256, 8)      \
    X(cells_header, received, 264, 8)      \
    X(cells_header, skipped, 272, 8)       \
    X(cells_header, reader_pid, 280, 4)    \
    X(cells_header, wake, 320, 4)          \
    X(cells_header, death_wake, 324, 4)        \
    X(cells_header, format, 2048, 2048)    \
    X(cells_slot, word, 0, 8)              \
    X(cells_slot, kept, 8, 8)

SLR_CELLS_LAYOUT(SLR_ASSERT_FIELD)
_Static_assert(sizeof(struct slr_cells_header) == SLR_PAGE, "cells header is its page");
_Static_assert(sizeof(struct slr_cells_slot) == SLR_CELLS_SLOT_SIZE, "cells slot");

#define SLR_CELLS_WRITER_LOCK offsetof(struct slr_cells_header, turn)
#define SLR_CELLS_READER_LOCK offsetof(struct slr_cells_header, position)

#endif
