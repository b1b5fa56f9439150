/* SPDX-License-Identifier: Apache-2.0
 *
 * Cells: one writer, one reader, the newest n elements.
 *
 *   put       the writer adds an element; its sequence, seq, is the number of puts before it
 *   cell      the memory of one element. There are 2n+1
 *   slot      element seq belongs to slot seq % n. A slot has two fields, `word` and `kept`
 *   lap       seq / n + 1: the number of elements that the slot has had, this one included
 *   word      of a slot: {taken, cell, lap} of its newest element. taken: the reader has taken that element
 *   kept      of a slot: the number of another cell. Only the writer stores it
 *   turn      of the header: the sequence of the current or last put
 *   intent    of the header: which cells that put moves
 *
 * Owners. At any time each cell is in exactly one place: n in the words of the slots, n in their `kept` fields, and one is the
 * writer's own. The state of a slot decides the owners:
 *
 *     not taken    cell in the word: the newest element of the slot, no owner    kept: the reader's
 *     taken        cell in the word: the reader's                                kept: available to the writer
 *
 * The writer's own cell is never in a word, so no other process sees it while the writer fills it.
 *
 * Put. The writer fills its own cell, reads the word of the slot, and swaps it for {own cell, lap}, not taken. If the word was
 * not taken, the writer gets its old cell; that element was never seen by the reader and is lost. If it was taken, the writer
 * gets `kept`, and the old cell, which the reader may still be reading, becomes `kept`. The swap fails only if the reader took
 * the element in between. It can do that once in a lap, so the second attempt succeeds, and there is no loop.
 *
 * Take. The reader adds the taken bit to the word of a slot that it has seen not taken. This one instruction always succeeds and
 * returns cell and lap. Only the reader sets the bit, and the swap of the writer keeps it or clears it with a newer lap, so the
 * addition never carries. By the same instruction the reader gets the cell of the element and gives up its previous cell
 * (`kept`). The cells of the reader are not written until it takes from the same slot again.
 *
 * Snapshot. The reader visits slots from the newest sequence down, at most n. If the writer laps it in the meantime, a slot has a
 * newer element than expected. Then the slots not yet visited have the predecessors of that element, so all n are visited.
 * Sorted, the elements are in order, and newer than all taken before. If the writer laps the reader twice, an element older
 * than a taken one may remain: it counts as lost and is overwritten before its slot is visited again.
 *
 * Sequences. A word has the lap at full width: with c bits for the cell (2^(c-1) <= 2n < 2^c) the lap has 63 - c bits, which
 * gives n * 2^(63-c) >= 2^61 sequences. A put costs at least one locked instruction, about ten nanoseconds: they
 * last for 700 years. No comparison can be wrong because of a repeated value (ABA). The addition of the reader compares
 * nothing. Between the writer's load and its swap the only possible change of a word is the taken bit.
 *
 * Death. The take is one instruction, and the words determine the owners, so a reader killed anywhere leaves nothing to repair.
 * Elements that it took and did not return count as lost, because the position in the header is stored before the number of
 * received ones. The writer stores its plan before the swap: intent {own cell, cell it gets, cell that becomes kept}, in one of
 * two fields by the parity of the sequence, and then `turn`, which selects the field. The lap in the word of the slot
 * shows the next writer whether the swap of `turn` was done. If so, it completes the put (idempotent: set kept, own the cell it
 * got). If not, nothing has happened, and the element is put again under the same number. Between the two stores `turn` still
 * selects the intent of the previous put, which is unchanged.
 *
 * Invariants: docs/spec/invariants.md, C1 to C5. The model core/models/cells.pml is checked by Spin.
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
    /* Release: turn is never visible without its intent. The reader also finds the newest element by turn (slr_cells_newest). */
    slr_store_release(&h->turn, put->seq);
    SLR_CRASH_POINT("cells.put.before_swap");
    /* Release: a reader that takes the element (slr_cells_take) sees its contents. Sequentially consistent: a reader that
     * announces its sleep sees the element, or the writer sees the announcement (ends.c). */
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
        /* Acquire: the taken bit shows that the reader no longer uses `kept`, which the writer may get and overwrite. */
        uint64_t old = slr_load_acquire(&slot->word);
        if (slr_cells_word_lap(c, old) != lap - 1 || lap > c->last_lap) break;
        if (try_swap(c, put, slot, old)) return SLIPRING_OK;
    }
    return slr_cells_corrupt("a slot is not as its writer left it");
}

struct account {
    uint64_t turn, word;
    struct intent intent;
    bool done; /* whether the swap of `turn` was done */
};

static int read_account(const struct slr_cells *c, struct account *out) {
    out->turn = slr_load_acquire(&c->header->turn);
    if (slr_cells_lap(c, out->turn) > c->last_lap) return slr_cells_corrupt("impossible sequence");
    out->word = slr_load_acquire(&c->slot[slr_cells_index(c, out->turn)].word);
    out->intent = unpack(slr_load_acquire(&c->header->intent[out->turn & 1]));
    out->done = slr_cells_word_lap(c, out->word) == slr_cells_lap(c, out->turn);
    return exist(c, out->intent) ? SLIPRING_OK : slr_cells_corrupt("an intent names a cell that does not exist");
}

/* Return whether the slot has the lap that it must have after `count` puts. */
static bool lap_is_right(const struct slr_cells *c, uint32_t index, uint64_t count) {
    uint64_t lap = count / c->depth + (index < count % c->depth);
    return slr_cells_word_lap(c, slr_load_acquire(&c->slot[index].word)) == lap;
}

static bool seen_once(const struct slr_cells *c, uint8_t *seen, uint32_t cell) {
    return cell < c->cell_count && !seen[cell]++;
}

/* Return whether every cell is in exactly one place. */
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

/* Without the lock of the writer: valid if the writer did nothing during the check. */
int slr_cells_verify(const struct slr_cells *c) {
    for (int attempt = 0; attempt < 1000; attempt++) {
        struct account before, after = {0};
        int code = audit(c, &before);
        if (!code || read_account(c, &after)) return code;
        if (before.turn == after.turn && before.done == after.done) return code;
    }
    return SLIPRING_OK; /* too busy for a consistent view, which shows that it works */
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
    /* Acquire: the contents from the writer (try_swap). Release: the reader has finished with the cell that it gives up before the
     * writer sees the taken bit (slr_cells_commit). */
    uint64_t old = SLR_DEFECT(reader_does_not_take) ? slr_load_acquire(word) : slr_fetch_add(word, SLR_CELLS_TAKEN);
    SLR_CRASH_POINT("cells.take.taken");
    uint64_t lap = slr_cells_word_lap(c, old);
    *out = (slipring_element){.seq = slr_cells_seq(c, lap, index), .cell = slr_cells_word_cell(c, old)};
    if (slr_cells_word_taken(old) || (out->cell >= c->cell_count && !SLR_DEFECT(cell_of_any_number)) || lap == 0 ||
        lap > c->last_lap)
        return slr_cells_corrupt("a slot names a cell that does not exist, or was taken by somebody else");
    return SLIPRING_OK;
}
