/* SPDX-License-Identifier: Apache-2.0
 *
 * Cells, mapped into this process, with a private copy of their geometry; words and laps; the steps of cells.c.
 */
#ifndef SLR_CELLS_CELLS_H
#define SLR_CELLS_CELLS_H

#include <stdbool.h>

#include "base/atomics.h"
#include "base/tsc_clock.h"
#include "slipring.h"
#include "topic/cells_layout.h"
#include "topic/peers.h"

#define SLR_CELLS_MAX_DEPTH 65536u
#define SLR_CELLS_MAX_ITEM (UINT64_C(1) << 32)
#define SLR_CELLS_DEFAULT_DEPTH 4u

struct slr_cells {
    /* Checked once against the size of the mapping; afterwards only these copies are used. */
    uint64_t generation, item_size, stride, last_lap;
    uint32_t depth, cell_count, cell_bits, format_size;

    struct slr_cells_header *header;
    struct slr_cells_slot *slot;
    uint8_t *cell;

    int fd; /* for locks and fstat; never mapped. -1 in a forked child */
    size_t span;
    uint64_t fork_generation;
    struct slr_fork_handle fork_handle;
    struct slr_tsc_clock clock;
    int64_t next_file_check_ns;
};

/* Sequence seq is lap seq / depth + 1 of slot seq % depth; lap 0: never used. */
static inline uint32_t slr_cells_index(const struct slr_cells *c, uint64_t seq) { return (uint32_t)(seq % c->depth); }
static inline uint64_t slr_cells_lap(const struct slr_cells *c, uint64_t seq) { return seq / c->depth + 1; }
static inline uint64_t slr_cells_seq(const struct slr_cells *c, uint64_t lap, uint32_t index) {
    return (lap - 1) * c->depth + index;
}

static inline uint64_t slr_cells_word(const struct slr_cells *c, uint32_t cell, uint64_t lap) {
    return lap << (c->cell_bits + 1) | (uint64_t)cell << 1;
}
static inline uint64_t slr_cells_word_lap(const struct slr_cells *c, uint64_t word) { return word >> (c->cell_bits + 1); }
static inline uint32_t slr_cells_word_cell(const struct slr_cells *c, uint64_t word) {
    return (uint32_t)(word >> 1) & ((1u << c->cell_bits) - 1);
}
static inline bool slr_cells_word_taken(uint64_t word) { return word & SLR_CELLS_TAKEN; }

/* cells.c: the steps of the writer. */
struct slr_cells_put {
    uint64_t seq; /* of the next element */
    uint32_t own; /* the cell it goes into */
};
int slr_cells_recover(const struct slr_cells *c, struct slr_cells_put *out); /* only for the holder of the writer's lock */
int slr_cells_commit(const struct slr_cells *c, struct slr_cells_put *put);
/* The steps of the reader: find the newest sequence, if there is one; take the element of a slot: OK, EMPTY or CORRUPT. */
bool slr_cells_newest(const struct slr_cells *c, uint64_t *seq);
int slr_cells_take(const struct slr_cells *c, uint32_t index, slipring_element *out);
/* A check by any process: OK, or CORRUPT if a cell is missing or has two owners. */
int slr_cells_verify(const struct slr_cells *c);

/* file.c */
int slr_cells_open(const char *bus, const char *name, bool writable, struct slr_cells **out);
void slr_cells_close(struct slr_cells *c);
int slr_cells_check(const struct slr_cells *c);  /* OK, FORKED or TOPIC_GONE: no system call */
int slr_cells_check_file(struct slr_cells *c);   /* the same, and checks that the file has a name */
int slr_cells_check_often(struct slr_cells *c);  /* the same, with the file checked at intervals */
int slr_cells_corrupt(const char *what);

#endif
