/* SPDX-License-Identifier: Apache-2.0
 *
 * Cells: one writer, one reader, the newest n elements.
 *
 * Cells. There are 2n+1. At any time each is in exactly one place: n in the slots' words, n in the slots' `kept`
 * fields, one is the writer's own. Whose they are depends on the slot:
 *
 *     not taken    word's cell: the newest element of the slot, nobody's    kept: the reader's
 *     taken        word's cell: the reader's                                kept: the writer's to get
 *
 * The writer's own cell is never in a word, so what it fills is seen by nobody.
 *
 * Put. Element number seq belongs to slot seq % n. The writer fills its own cell, reads the slot's word, and swaps the word
 * for {own cell, lap}, not taken. If it was not taken, it gets the word's old cell (an element the reader never saw:
 * lost). If it was, it gets `kept`, and the old cell, which the reader may still be reading, becomes `kept`. The swap fails
 * only if the reader took the element in between, which it can do once a lap, so the second try succeeds: no loop.
 *
 * Take. The reader adds the taken bit to the word of a slot it has seen not taken, in one instruction that always succeeds
 * and tells cell and lap. Nobody but the reader sets the bit, and the writer's swap keeps it or clears it with a newer lap, so
 * the addition never carries. By the same instruction the reader owns the element's cell, and has given up the one it
 * held before (`kept`). What it owns is not written until it takes from the same slot again.
 *
 * Snapshot. From the newest sequence down, n slots at most. If the writer goes round meanwhile, a slot gives a
 * newer element than expected: the slots not yet visited then hold its predecessors, so all n are visited. Sorted, they are
 * in order, and newer than all taken before. If the writer goes round twice, an element may be left that is older than one
 * taken: it counts as lost, and is overwritten before its slot is visited again.
 *
 * Sequences. A word carries the lap, seq / n + 1, at full width: with c bits for the cell (2^(c-1) <= 2n < 2^c) there are
 * 63 - c bits of lap, and n * 2^(63-c) >= 2^61 sequences. A put costs a locked instruction on shared memory, some ten
 * nanoseconds: that is 700 years of nothing but puts. Neither side compares anything that could have come round: the
 * reader's addition compares nothing, and the only change anybody else makes to a word between the writer's look and its
 * swap is the taken bit. So no word value repeats, and none is mistaken for another (ABA).
 *
 * Death. The reader's take is one instruction, and who owns what is read off the words: a reader killed anywhere leaves
 * nothing to repair. Elements it took and never returned count as lost, since the position in the header is moved first,
 * then the count of received ones. The writer writes down before its swap what it is going to do: intent {own cell, cell
 * it gets, cell that becomes kept}, in one of two places by the sequence's parity, and then `turn`, which says
 * which of them is meant. The next writer sees by the lap in the slot's word whether the swap of `turn` was done. If so, it
 * finishes it (idempotent: set kept; own the cell it got); if not, nothing has happened, and the element is put again under
 * the same number. Between the two stores `turn` still means the previous put, whose intent is untouched.
 *
 * Invariants: docs/spec/invariants.md, C1 to C5. A model of it is checked by spin: core/models/cells.pml.
 */
#include "cells/cells.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/crash_points.h"
#include "base/defects.h"
#include "base/error.h"

#define NUMBER_MASK ((UINT64_C(1) << SLR_CELLS_NUMBER_BITS) - 1)

struct intent {
    uint32_t own, get, keep;
};

static uint64_t pack(struct intent i) {
    return i.own | (uint64_t)i.get << SLR_CELLS_NUMBER_BITS | (uint64_t)i.keep << 2 * SLR_CELLS_NUMBER_BITS;
}

static struct intent unpack(uint64_t word) {
    return (struct intent){.own = (uint32_t)(word & NUMBER_MASK),
                           .get = (uint32_t)(word >> SLR_CELLS_NUMBER_BITS & NUMBER_MASK),
                           .keep = (uint32_t)(word >> 2 * SLR_CELLS_NUMBER_BITS & NUMBER_MASK)};
}

static bool exist(const struct slr_cells *c, struct intent i) {
    return i.own < c->cell_count && i.get < c->cell_count && i.keep < c->cell_count;
}

/* The writer -------------------------------------------------------------------------------------------------- */

static bool try_swap(const struct slr_cells *c, struct slr_cells_put *put, struct slr_cells_slot *slot, uint64_t old) {
    struct slr_cells_header *h = c->header;
    uint32_t there = slr_cells_word_cell(c, old), kept = (uint32_t)(slr_load_relaxed(&slot->kept) & NUMBER_MASK);
    bool taken = SLR_DEFECT(writer_gets_held_cell) ? false : slr_cells_word_taken(old);
    struct intent intent = {.own = put->own, .get = taken ? kept : there, .keep = taken ? there : kept};
    if (!exist(c, intent)) return false;
    if (SLR_DEFECT(put_announced_before_intent)) slr_store_release(&h->turn, put->seq);
    slr_store_relaxed(&h->intent[put->seq & 1], pack(intent));
    SLR_CRASH_POINT("cells.put.intent_stored");
    /* Release: no turn without its intent. Also how the reader finds the newest element (slr_cells_newest). */
    slr_store_release(&h->turn, put->seq);
    SLR_CRASH_POINT("cells.put.before_swap");
    /* Release: whoever takes the element (slr_cells_take) sees what was filled in. Sequentially consistent: whoever
     * announced its sleep before this sees the element, or we see it sleep (ends.c). */
    if (!slr_cas_seq_cst(&slot->word, old, slr_cells_word(c, put->own, slr_cells_lap(c, put->seq)))) return false;
    SLR_CRASH_POINT("cells.put.swapped");
    slr_store_relaxed(&slot->kept, intent.keep);
    SLR_CRASH_POINT("cells.put.kept");
    *put = (struct slr_cells_put){.seq = put->seq + 1, .own = intent.get};
    return true;
}

int slr_cells_commit(const struct slr_cells *c, struct slr_cells_put *put) {
    struct slr_cells_slot *slot = &c->slot[slr_cells_index(c, put->seq)];
    uint64_t lap = slr_cells_lap(c, put->seq);
    for (int attempt = 0; attempt < 2; attempt++) {
        /* Acquire: the taken bit says that the reader has done with `kept`, which we may get and overwrite. */
        uint64_t old = slr_load_acquire(&slot->word);
        if (slr_cells_word_lap(c, old) != lap - 1 || lap > c->last_lap) break;
        if (try_swap(c, put, slot, old)) return SLIPRING_OK;
    }
    return slr_cells_corrupt("a slot is not as its writer left it");
}

struct account {
    uint64_t turn, word;
    struct intent intent;
    bool done; /* the swap of `turn` */
};

static int read_account(const struct slr_cells *c, struct account *out) {
    out->turn = slr_load_acquire(&c->header->turn);
    if (slr_cells_lap(c, out->turn) > c->last_lap) return slr_cells_corrupt("impossible sequence");
    out->word = slr_load_acquire(&c->slot[slr_cells_index(c, out->turn)].word);
    out->intent = unpack(slr_load_acquire(&c->header->intent[out->turn & 1]));
    out->done = slr_cells_word_lap(c, out->word) == slr_cells_lap(c, out->turn);
    return exist(c, out->intent) ? SLIPRING_OK : slr_cells_corrupt("an intent names a cell that does not exist");
}

/* Whether the slot's lap is the one it must have with `count` elements put. */
static bool lap_is_right(const struct slr_cells *c, uint32_t index, uint64_t count) {
    uint64_t lap = count / c->depth + (index < count % c->depth);
    return slr_cells_word_lap(c, slr_load_acquire(&c->slot[index].word)) == lap;
}

static bool seen_once(const struct slr_cells *c, uint8_t *seen, uint32_t cell) {
    return cell < c->cell_count && !seen[cell]++;
}

/* Every cell in exactly one place. */
static bool complete(const struct slr_cells *c, const struct account *a, uint8_t *seen) {
    bool right = seen_once(c, seen, a->done ? a->intent.get : a->intent.own);
    for (uint32_t i = 0; i < c->depth && right; i++) {
        bool finished = a->done && i == slr_cells_index(c, a->turn);
        uint32_t kept = finished ? a->intent.keep : (uint32_t)(slr_load_relaxed(&c->slot[i].kept) & NUMBER_MASK);
        right = seen_once(c, seen, slr_cells_word_cell(c, slr_load_acquire(&c->slot[i].word))) && seen_once(c, seen, kept) &&
                lap_is_right(c, i, a->turn + a->done);
    }
    return right;
}

static int audit(const struct slr_cells *c, struct account *out) {
    int code = read_account(c, out);
    if (code) return code;
    uint8_t *seen = calloc(c->cell_count, 1);
    if (!seen) return slr_error_errno("cannot check the cells");
    bool right = complete(c, out, seen);
    free(seen);
    return right ? SLIPRING_OK : slr_cells_corrupt("a cell is missing or has two owners");
}

int slr_cells_recover(const struct slr_cells *c, struct slr_cells_put *out) {
    struct account a;
    int code = audit(c, &a);
    if (code) return code;
    if (a.done && !SLR_DEFECT(dead_put_not_finished)) slr_store_relaxed(&c->slot[slr_cells_index(c, a.turn)].kept, a.intent.keep);
    bool gets = a.done && !SLR_DEFECT(dead_put_gets_nothing);
    *out = (struct slr_cells_put){.seq = a.turn + a.done, .own = gets ? a.intent.get : a.intent.own};
    SLR_CRASH_POINT("cells.recovered");
    return SLIPRING_OK;
}

/* Without the writer's lock: right at a moment at which the writer did nothing. */
int slr_cells_verify(const struct slr_cells *c) {
    for (int attempt = 0; attempt < 1000; attempt++) {
        struct account before, after = {0};
        int code = audit(c, &before);
        if (!code || read_account(c, &after)) return code;
        if (before.turn == after.turn && before.done == after.done) return code;
    }
    return SLIPRING_OK; /* too busy to be looked at, which is a sign of health */
}

/* The reader -------------------------------------------------------------------------------------------------- */

bool slr_cells_newest(const struct slr_cells *c, uint64_t *seq) {
    uint64_t turn = slr_load_acquire(&c->header->turn); /* partner: try_swap */
    uint64_t word = slr_load_acquire(&c->slot[slr_cells_index(c, turn)].word);
    bool done = slr_cells_word_lap(c, word) >= slr_cells_lap(c, turn);
    *seq = done ? turn : turn - 1;
    return done || turn > 0;
}

int slr_cells_take(const struct slr_cells *c, uint32_t index, slipring_element *out) {
    _Atomic uint64_t *word = &c->slot[index].word;
    if (slr_cells_word_taken(slr_load_relaxed(word))) return SLIPRING_EMPTY;
    SLR_CRASH_POINT("cells.take.before");
    /* Acquire: what the writer filled in (try_swap). Release: all reading of the cell we give up is done before the writer
     * sees it given (slr_cells_commit). */
    uint64_t old = SLR_DEFECT(reader_does_not_take) ? slr_load_acquire(word) : slr_fetch_add(word, SLR_CELLS_TAKEN);
    SLR_CRASH_POINT("cells.take.taken");
    uint64_t lap = slr_cells_word_lap(c, old);
    *out = (slipring_element){.seq = slr_cells_seq(c, lap, index), .cell = slr_cells_word_cell(c, old)};
    if (slr_cells_word_taken(old) || (out->cell >= c->cell_count && !SLR_DEFECT(cell_of_any_number)) || lap == 0 ||
        lap > c->last_lap)
        return slr_cells_corrupt("a slot names a cell that does not exist, or was taken by somebody else");
    return SLIPRING_OK;
}
