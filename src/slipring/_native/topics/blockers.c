/* SPDX-License-Identifier: Apache-2.0
 *
 * The process that blocks a send without room, or blocks readers behind a message that is claimed and not committed. The
 * public functions of the core do not report it; this file uses private headers of the core, for reading only.
 *
 * A send finds no room in two cases (core/src/ring/reclaim.c). `oldest` cannot move because of a claim, a reliable reader or a
 * cursor there. Or `freed` cannot move because a reader holds a message. The core sweeps dead processes before it returns
 * FULL. Other processes run meanwhile: a blocker may be gone by the time its error is read.
 */
#include "native.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/copy.h"
#include "topic/peers.h"
#include "ports/publisher.h"
#include "ring/ring.h"

static PyObject *name_text(const char *name, size_t room) {
    return PyUnicode_DecodeUTF8(name, (Py_ssize_t)strnlen(name, room), "replace");
}

static uint32_t at_most(uint32_t value, uint32_t most) { return value < most ? value : most; }

/* Gets the living owner of the claim of seq; false if seq is settled. */
static bool claim_owner(const struct slr_segment *s, uint64_t seq, uint32_t *owner) {
    uint64_t word = slr_load_acquire(&slr_slot_of(s, seq)->word);
    *owner = slr_word_writer(word);
    return slr_word_lap(word) == slr_lap(s, seq) && slr_word_state(word) == SLR_CLAIMED && *owner < s->writer_count &&
           !slr_writer_dead(s, *owner);
}

/* Claims ---------------------------------------------------------------------------------------------------- */

static PyObject *claim_row(const struct slr_segment *s, uint64_t seq, uint32_t owner) {
    const struct slr_writer *w = &s->writer[owner];
    char name[sizeof w->name];
    slr_copy_out(name, w->name, sizeof name);
    return Py_BuildValue("{sKsIsIsN}", "seq", (unsigned long long)seq, "entry", (unsigned)owner, "pid",
                         (unsigned)slr_load_relaxed(&w->pid), "sender", name_text(name, sizeof name));
}

static bool add_claims(const struct slr_segment *s, PyObject *rows) {
    bool *seen = calloc(s->writer_count, sizeof *seen), ok = seen != NULL;
    uint64_t oldest = slr_load_acquire(&s->ring->oldest), tail = slr_load_acquire(&s->ring->tail);
    if (tail - oldest > s->slot_count) tail = oldest; /* the ring moved between the two loads: nothing is blocked */
    for (uint64_t seq = oldest; ok && seq < tail; seq++) {
        uint32_t owner;
        if (!claim_owner(s, seq, &owner) || seen[owner]) continue;
        seen[owner] = true;
        PyObject *row = claim_row(s, seq, owner);
        ok = row && PyList_Append(rows, row) == 0;
        Py_XDECREF(row);
    }
    if (!seen) PyErr_NoMemory();
    free(seen);
    return ok;
}

PyObject *open_claims(const char *bus, const char *topic) {
    struct slr_segment *s;
    int code = slr_segment_open(bus, topic, SLR_INSPECT, &s);
    if (code) return raise_code_at(code, bus);
    PyObject *rows = PyList_New(0);
    if (rows && !add_claims(s, rows)) Py_CLEAR(rows);
    slr_segment_close(s);
    return rows;
}

/* Full ------------------------------------------------------------------------------------------------------ */

#define REMEDY "wait longer (timeout=) or make the topic larger (capacity=, slots=)"

static PyObject *claim_text(const struct slr_segment *s, uint64_t seq, uint32_t owner) {
    PyObject *row = claim_row(s, seq, owner), *text = NULL;
    uint32_t pid = slr_load_relaxed(&s->writer[owner].pid);
    if (row)
        text = PyUnicode_FromFormat("the ring is full: %s %u (sender %R) has claimed message %llu and not committed it: it has "
                                    "an open loan, or is stopped; " REMEDY,
                                    pid == (uint32_t)getpid() ? "this process," : "process", (unsigned)pid,
                                    PyDict_GetItemString(row, "sender"), (unsigned long long)seq);
    Py_XDECREF(row);
    return text;
}

/* The reader that holds the lowest sequence; reader_count if there is none. */
static uint32_t lowest_reader(const struct slr_segment *s, uint64_t *seq) {
    uint32_t found = s->reader_count, readers = at_most(slr_load_acquire(&s->readers->high_reader), s->reader_count);
    uint64_t freed = slr_load_acquire(&s->ring->freed);
    for (uint32_t e = 0; e < readers; e++) {
        uint64_t state = slr_load_acquire(&s->reader[e].state), hold = slr_load_acquire(&s->reader[e].hold);
        if (slr_kind_is(state, SLR_KIND_FREE) || hold >= *seq) continue;
        if (hold < freed && !slr_kind_is(state, SLR_KIND_RELIABLE)) continue; /* this hold was never granted */
        found = e;
        *seq = hold;
    }
    return found;
}

static uint32_t lowest_cursor(const struct slr_segment *s, uint64_t *seq) {
    uint32_t found = s->cursor_count, cursors = at_most(slr_load_acquire(&s->readers->high_cursor), s->cursor_count);
    for (uint32_t e = 0; s->delivery == SLR_RELIABLE && e < cursors; e++) {
        uint64_t position = slr_load_acquire(&s->cursor[e].position);
        if (!slr_kind_is(slr_load_acquire(&s->cursor[e].state), SLR_KIND_CURSOR) || position >= *seq) continue;
        found = e;
        *seq = position;
    }
    return found;
}

static PyObject *cursor_text(const struct slr_segment *s, uint32_t entry, uint64_t seq) {
    char raw[SLIPRING_MAX_CURSOR_NAME + 1];
    slr_copy_out(raw, s->cursor[entry].name, SLIPRING_MAX_CURSOR_NAME);
    PyObject *name = name_text(raw, SLIPRING_MAX_CURSOR_NAME), *text = NULL;
    if (name)
        text = PyUnicode_FromFormat("the ring is full: cursor %R, which is %s, has not passed message %llu; " REMEDY ", or drop "
                                    "the cursor (bus.drop_cursor)",
                                    name, slr_cursor_attached(s, entry) ? "attached" : "not attached", (unsigned long long)seq);
    Py_XDECREF(name);
    return text;
}

static PyObject *reader_text(const struct slr_segment *s, uint32_t entry, uint64_t seq) {
    const struct slr_reader *r = &s->reader[entry];
    bool reads = slr_kind_is(slr_load_acquire(&r->state), SLR_KIND_RELIABLE) && slr_load_relaxed(&r->position) <= seq;
    uint32_t pid = slr_load_relaxed(&r->pid);
    return PyUnicode_FromFormat("the ring is full: %s %u %s message %llu; " REMEDY,
                                pid == (uint32_t)getpid() ? "a subscriber of this process," : "the subscriber of process",
                                (unsigned)pid, reads ? "has not read" : "holds", (unsigned long long)seq);
}

/* NULL without an exception: nothing blocks the send any more. */
static PyObject *full_text(const struct slr_segment *s) {
    uint64_t oldest = slr_load_acquire(&s->ring->oldest), tail = slr_load_acquire(&s->ring->tail), seq = tail;
    uint32_t owner;
    if (oldest < tail && claim_owner(s, oldest, &owner)) return claim_text(s, oldest, owner);
    uint32_t reader = lowest_reader(s, &seq), cursor = lowest_cursor(s, &seq);
    if (cursor < s->cursor_count) return cursor_text(s, cursor, seq);
    return reader < s->reader_count ? reader_text(s, reader, seq) : NULL;
}

/* Sending --------------------------------------------------------------------------------------------------- */

PyObject *raise_unsent(Publisher *self, int code) {
    PyObject *text = code == SLIPRING_FULL ? full_text(slr_publisher_segment(self->pub)) : NULL;
    if (!text && !PyErr_Occurred()) return raise_code(code);
    if (text) raise_text(code, text, "timeout");
    Py_XDECREF(text);
    return NULL;
}
