/* SPDX-License-Identifier: Apache-2.0
 *
 * Writer and reader of cells. Each holds an open-file-description lock on its part of the header from open to close; a second one
 * is refused. cells.c describes their steps.
 *
 * Waiting: the reader announces itself on the futex word, fences, checks once more, and sleeps. The writer swaps the word of the
 * slot and then loads the futex word, both sequentially consistent. So one of the two sees the other, and a put without a
 * sleeping reader costs one load. If the writer is killed before that load, the kernel wakes the reader (death_wake.h). A
 * sleep lasts at most one slice, and the caller calls again: slices limit the delay of events without a wake-up, such as a file
 * deleted by hand (wait/sleep.h).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/crash_points.h"
#include "base/defects.h"
#include "base/error.h"
#include "cells/cells.h"
#include "topic/peers.h"
#include "wait/death_wake.h"
#include "wait/futex.h"
#include "wait/sleep.h"

#define MS INT64_C(1000000)
#define LOCK_ATTEMPTS 5 /* a sweep holds the lock for a short time */

struct slipring_cells_writer {
    struct slr_cells *c;
    struct slr_cells_put put;
};

struct slipring_cells_reader {
    struct slr_cells *c;
    uint64_t position, received, skipped;           /* as in the header */
    uint64_t position_before, received_before, skipped_before; /* when this handle was opened */
    slipring_element *elements;
    int64_t slice_ns; /* of the current wait; 0: none */
    _Atomic uint64_t interrupted;
};

static void describe(const struct slr_cells *c, slipring_cells_shape *out) {
    *out = (slipring_cells_shape){.item_size = c->item_size,
                                  .stride = c->stride,
                                  .depth = c->depth,
                                  .cell_count = c->cell_count,
                                  .cells = c->cell,
                                  .span = (size_t)c->cell_count * c->stride};
}

static int lock_end(const struct slr_cells *c, uint64_t lock, const char *name, const char *what) {
    for (int attempt = 0; attempt < LOCK_ATTEMPTS; attempt++) {
        if (slr_lock_try(c->fd, lock)) return SLIPRING_OK;
        if (!slr_lock_refused()) return slr_error_errno("cannot lock the %s entry of cells '%s'", what, name);
        nanosleep(&(struct timespec){.tv_nsec = MS}, NULL);
    }
    return slr_error(SLIPRING_BUSY, "topic", "cells '%s' already have a live %s", name, what);
}

static int open_end(const char *bus, const char *name, uint64_t lock, const char *what, struct slr_cells **out) {
    int code = slr_cells_open(bus, name, true, out);
    if (code) return code;
    code = lock_end(*out, lock, name, what);
    if (SLR_DEFECT(second_end_of_cells_let_in) && code == SLIPRING_BUSY) code = SLIPRING_OK;
    if (!code) return SLIPRING_OK;
    slr_cells_close(*out);
    *out = NULL;
    return code;
}

/* The writer -------------------------------------------------------------------------------------------------- */

int slipring_cells_writer_open(const char *bus, const char *name, slipring_cells_writer **out) {
    slipring_cells_writer *w = calloc(1, sizeof *w);
    if (!w) return slr_error_errno("cannot open a writer");
    int code = open_end(bus, name, SLR_CELLS_WRITER_LOCK, "writer", &w->c);
    SLR_CRASH_POINT("cells.writer.locked");
    if (!code) code = slr_cells_recover(w->c, &w->put);
    if (code) {
        if (w->c) slr_cells_close(w->c);
        free(w);
        return code;
    }
    slr_store_relaxed(&w->c->header->writer_pid, (uint32_t)getpid());
    SLR_CRASH_POINT("cells.writer.open");
    *out = w;
    return SLIPRING_OK;
}

void slipring_cells_writer_close(slipring_cells_writer *w) {
    if (w->c->fork_generation == slr_fork_generation()) slr_store_relaxed(&w->c->header->writer_pid, 0);
    SLR_CRASH_POINT("cells.writer.closed");
    slr_cells_close(w->c); /* releases the lock */
    free(w);
}

void slipring_cells_writer_shape(const slipring_cells_writer *w, slipring_cells_shape *out) { describe(w->c, out); }

int slipring_cells_writer_begin(slipring_cells_writer *w, uint32_t *cell) {
    int code = slr_cells_check_often(w->c);
    *cell = w->put.own;
    return code;
}

int slipring_cells_writer_commit(slipring_cells_writer *w, uint64_t *seq) {
    int code = slr_cells_check(w->c);
    if (seq) *seq = w->put.seq;
    SLR_CRASH_POINT("cells.put.filled");
    if (code) return code;
    slr_death_wake_set(SLR_DEFECT(cells_writer_sets_no_death_wake) ? &w->c->header->writer_pid : &w->c->header->death_wake);
    code = slr_cells_commit(w->c, &w->put);
    /* Partner: wait_slice. */
    if (!code && slr_load_seq_cst(&w->c->header->wake) & (SLR_WAKE_SLEEPING | SLR_WAKE_WAKING)) slr_wake_all(&w->c->header->wake);
    slr_death_wake_clear();
    SLR_CRASH_POINT("cells.put.done");
    return code;
}

int slipring_cells_writer_put(slipring_cells_writer *w, const void *value, size_t size, uint64_t *seq) {
    uint32_t cell;
    if (size > w->c->item_size)
        return slr_error(SLIPRING_TOO_LARGE, "value", "value has %zu bytes; an element has %zu", size, (size_t)w->c->item_size);
    if (size < w->c->item_size)
        return slr_error(SLIPRING_BAD_ARGUMENT, "value", "value has %zu bytes; an element has exactly %zu", size,
                         (size_t)w->c->item_size);
    int code = slipring_cells_writer_begin(w, &cell);
    if (code) return code;
    memcpy(w->c->cell + cell * w->c->stride, value, size); /* the writer's own cell: no race */
    return slipring_cells_writer_commit(w, seq);
}

/* The reader -------------------------------------------------------------------------------------------------- */

/* Return whether an element at or after position is not taken. Elements that a dead reader took are taken. */
static bool anything_left(const slipring_cells_reader *r) {
    const struct slr_cells *c = r->c;
    for (uint32_t i = 0; i < c->depth; i++) {
        uint64_t word = slr_load_acquire(&c->slot[i].word), lap = slr_cells_word_lap(c, word);
        if (!slr_cells_word_taken(word) && lap && slr_cells_seq(c, lap, i) >= r->position) return true;
    }
    return false;
}

/* Store the position first: if the process dies between the stores, elements that were not returned count as lost. */
static void account(slipring_cells_reader *r, uint64_t position, uint64_t received, uint64_t skipped) {
    r->position = position;
    r->received += received;
    r->skipped += skipped;
    slr_store_relaxed(&r->c->header->position, r->position);
    SLR_CRASH_POINT("cells.take.position");
    slr_store_release(&r->c->header->received, r->received);
    slr_store_release(&r->c->header->skipped, r->skipped);
    SLR_CRASH_POINT("cells.take.accounted");
}

static int resume(slipring_cells_reader *r) {
    struct slr_cells_header *h = r->c->header;
    uint64_t newest;
    bool any = slr_cells_newest(r->c, &newest);
    r->position = slr_load_relaxed(&h->position);
    r->received = slr_load_relaxed(&h->received);
    r->skipped = slr_load_relaxed(&h->skipped);
    if (r->position > (any ? newest + 1 : 0) || r->received > r->position || r->skipped > r->position - r->received)
        return slr_cells_corrupt("the reader's accounts are impossible");
    r->position_before = r->position;
    r->received_before = r->received;
    r->skipped_before = r->skipped;
    if (any && newest >= r->position && !anything_left(r)) account(r, newest + 1, 0, 0);
    slr_store_relaxed(&h->reader_pid, (uint32_t)getpid());
    SLR_CRASH_POINT("cells.reader.open");
    return SLIPRING_OK;
}

int slipring_cells_reader_open(const char *bus, const char *name, slipring_cells_reader **out) {
    slipring_cells_reader *r = calloc(1, sizeof *r);
    if (!r) return slr_error_errno("cannot open a reader");
    int code = open_end(bus, name, SLR_CELLS_READER_LOCK, "reader", &r->c);
    SLR_CRASH_POINT("cells.reader.locked");
    if (!code && !(r->elements = calloc(r->c->depth, sizeof *r->elements))) code = slr_error_errno("cannot open a reader");
    if (!code) code = resume(r);
    if (code) {
        if (r->c) slr_cells_close(r->c);
        free(r->elements);
        free(r);
        return code;
    }
    *out = r;
    return SLIPRING_OK;
}

void slipring_cells_reader_close(slipring_cells_reader *r) {
    if (r->c->fork_generation == slr_fork_generation()) slr_store_relaxed(&r->c->header->reader_pid, 0);
    SLR_CRASH_POINT("cells.reader.closed");
    slr_cells_close(r->c);
    free(r->elements);
    free(r);
}

void slipring_cells_reader_shape(const slipring_cells_reader *r, slipring_cells_shape *out) { describe(r->c, out); }

/* Check for new elements: OK and the newest sequence, or EMPTY. */
static int look(slipring_cells_reader *r, uint64_t *newest) {
    if (slr_cells_newest(r->c, newest) && *newest >= r->position) return slr_cells_check(r->c);
    int code = slr_cells_check_often(r->c);
    return code ? code : SLIPRING_EMPTY;
}

static int by_seq(const void *a, const void *b) {
    uint64_t left = ((const slipring_element *)a)->seq, right = ((const slipring_element *)b)->seq;
    return (left > right) - (left < right);
}

static uint64_t smaller(uint64_t a, uint64_t b) { return a < b ? a : b; }

int slipring_cells_reader_take(slipring_cells_reader *r, const slipring_element **elements, size_t *count) {
    const struct slr_cells *c = r->c;
    uint64_t newest;
    *elements = r->elements;
    *count = 0;
    int code = look(r, &newest);
    if (code) return code == SLIPRING_EMPTY ? SLIPRING_OK : code;
    uint32_t index = slr_cells_index(c, newest), visits = (uint32_t)smaller(c->depth, newest + 1 - r->position);
    for (uint32_t k = 0; k < visits; k++, index = index ? index - 1 : c->depth - 1) {
        slipring_element *e = &r->elements[*count];
        code = slr_cells_take(c, index, e);
        if (code == SLIPRING_CORRUPT) return code;
        if (code || e->seq < r->position) continue; /* taken by a dead reader, or tampered contents */
        ++*count;
        if (e->seq > newest) visits = c->depth; /* the writer has lapped the reader */
    }
    if (!SLR_DEFECT(snapshot_not_sorted)) qsort(r->elements, *count, sizeof *r->elements, by_seq);
    if (*count && r->elements[*count - 1].seq > newest) newest = r->elements[*count - 1].seq;
    account(r, newest + 1, *count, 0);
    return SLIPRING_OK;
}

int slipring_cells_reader_take_newest(slipring_cells_reader *r, slipring_element *out) {
    const struct slr_cells *c = r->c;
    uint64_t newest;
    int code = look(r, &newest);
    if (!code) code = slr_cells_take(c, slr_cells_index(c, newest), out);
    if (code == SLIPRING_EMPTY && newest >= r->position) account(r, newest + 1, 0, 0); /* a dead reader took it */
    if (code) return code;
    /* When it was put, the depth - 1 elements before it could be taken; earlier ones had been overwritten. */
    uint64_t passed = out->seq - r->position;
    account(r, out->seq + 1, 1, smaller(passed, c->depth - 1));
    return SLIPRING_OK;
}

void slipring_cells_reader_counts(const slipring_cells_reader *r, slipring_cells_counts *out) {
    out->position = r->position;
    out->received = r->received - r->received_before;
    out->skipped = r->skipped - r->skipped_before;
    out->lost = r->position - r->position_before - out->received - out->skipped;
    if (SLR_DEFECT(overwritten_elements_not_counted)) out->lost = 0;
}

/* Waiting ----------------------------------------------------------------------------------------------------- */

/* Return whether the wait can end: the next put swaps the word of the slot of position. */
static bool ready(const slipring_cells_reader *r) {
    const struct slr_cells *c = r->c;
    uint64_t word = slr_load_acquire(&c->slot[slr_cells_index(c, r->position)].word);
    return slr_cells_word_lap(c, word) >= slr_cells_lap(c, r->position) || slr_load_relaxed(&r->interrupted) ||
           slr_load_relaxed(&c->header->removed);
}

static bool spin(const slipring_cells_reader *r, int64_t until) {
    do {
        for (int i = 0; i < 16; i++) {
            if (ready(r)) return true;
            slr_pause();
        }
    } while (slr_clock_monotonic_ns() < until);
    return false;
}

static int check_wait(slipring_cells_reader *r, bool file) {
    if (slr_load_relaxed(&r->interrupted)) return slr_error(SLIPRING_CLOSED, "", "the reader was closed");
    return file ? slr_cells_check_file(r->c) : slr_cells_check(r->c);
}

/* Sleep on the word of the slot, too, listed after death_wake: see ports/wait.c. */
static int wait_slice(slipring_cells_reader *r, int64_t deadline) {
    struct slr_cells_header *h = r->c->header;
    _Atomic uint64_t *next = &r->c->slot[slr_cells_index(r->c, r->position)].word;
    size_t count = slr_sleeps_on_many() ? 3 : 1, woken;
    struct slr_futex_word words[3] = {slr_futex_word_of(&h->wake, slr_sleep_announce(&h->wake)),
                                slr_futex_word_of(&h->death_wake, slr_load_relaxed(&h->death_wake)),
                                slr_futex_word_of(next, (uint32_t)slr_load_relaxed(next))};
    r->slice_ns = slr_slice(r->slice_ns, count == 1);
    slr_fence_seq_cst(); /* the check below comes after the announcement. Partner: slipring_cells_writer_commit */
    if (ready(r)) return 0;
    int64_t until = slr_clock_monotonic_ns() + r->slice_ns;
    int slept = slr_sleep_on(words, count, until < deadline ? until : deadline, &woken);
    if (slept == ETIMEDOUT && until < deadline) r->slice_ns = slr_slice_after(r->slice_ns);
    return slept;
}

int slipring_cells_reader_wait(slipring_cells_reader *r, int64_t deadline_ns, int64_t spin_ns) {
    int code = check_wait(r, false);
    if (code || ready(r)) return code;
    int64_t now = slr_clock_monotonic_ns();
    if (now >= deadline_ns) return SLIPRING_TIMEOUT;
    int64_t spin_until = now + spin_ns < deadline_ns ? now + spin_ns : deadline_ns;
    if (!r->slice_ns && spin_ns > 0 && spin(r, spin_until)) return check_wait(r, false);
    int slept = wait_slice(r, deadline_ns);
    code = check_wait(r, slept == ETIMEDOUT);
    if (slept != ETIMEDOUT) r->slice_ns = 0;
    if (code) return code;
    if (slept == EINTR) return SLIPRING_INTERRUPTED;
    if (slept && slept != ETIMEDOUT) {
        errno = slept;
        return slr_error_errno("cannot sleep");
    }
    return slept == ETIMEDOUT && slr_clock_monotonic_ns() >= deadline_ns && !ready(r) ? SLIPRING_TIMEOUT : SLIPRING_OK;
}

void slipring_cells_reader_interrupt(slipring_cells_reader *r) {
    slr_store_seq_cst(&r->interrupted, 1);
    if (r->c->fork_generation == slr_fork_generation()) slr_wake_all(&r->c->header->wake);
}
