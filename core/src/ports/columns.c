/* SPDX-License-Identifier: Apache-2.0
 *
 * Copying messages into columns, from the ring into arrays of the caller. For the usual case of batches: consecutive complete
 * messages of one sender and one type. Any other message ends the run; read.c handles it.
 *
 * Rows are taken some at a time, those of one size together. First their slots are checked, while their bodies are prefetched.
 * Then the bodies are copied. The rows count once it is certain that none of them was overwritten.
 */
#include "base/copy.h"
#include "ports/read.h"

#define AHEAD 16   /* slots: how far ahead they are prefetched */
#define AT_ONCE 64 /* rows that are discarded together if one of them was overwritten */
#define WRITER (SLR_WRITER_MASK << 2)

static inline bool same_meta(const slipring_columns *c, const uint8_t *shared) {
    const _Atomic uint64_t *words = (const void *)shared;
    for (size_t i = 0, count = (size_t)slr_round8((uint64_t)c->type_size + c->sender_size) / 8; i < count; i++)
        if (slr_load_relaxed(words + i) != c->meta_words[i]) return false;
    return true;
}

/* Consecutive messages with the same lengths, each starting where the previous one ends. */
struct alike {
    uint64_t lengths, end; /* of the first */
    uint64_t body, size;   /* bytes of the body, and of the message in the ring */
    const uint8_t *payload;  /* of the first body; the others follow */
    size_t most;           /* most messages that fit, in slots without a wrap */
};

/* Describe the next messages; false if the next one has another type or sender, or is invalid. */
static bool alike_from(const slipring_subscriber *sub, const slipring_columns *c, struct alike *out) {
    const struct slr_segment *s = sub->s;
    const struct slr_slot *slot = slr_slot_of(s, sub->position);
    if (!slr_ready_at(s, sub->position)) return false;
    uint64_t lengths = slr_load_relaxed(&slot->lengths), end = slr_load_relaxed(&slot->end), body = slr_lengths_body(lengths);
    uint64_t size = slr_message_bytes(body, (uint64_t)c->type_size + c->sender_size);
    if (lengths != slr_lengths(body, c->type_size, c->sender_size) || size > s->capacity) return false;
    uint64_t slots = s->slot_count - (sub->position & s->slot_mask), fit = s->capacity / size;
    if (c->data && body && fit > (c->data_room - c->data_used) / body) fit = (c->data_room - c->data_used) / body;
    *out = (struct alike){.lengths = lengths,
                          .end = end,
                          .body = body,
                          .size = size,
                          .payload = s->payload + ((end - size) & s->payload_mask & ~UINT64_C(7)),
                          .most = (size_t)(slots < fit ? slots : fit)};
    return true;
}

/* Return how many there are, at most count, and prefetch their bodies. Slots of the next `fetchable` messages may be prefetched.
 * Slots beyond may be in use by a writer, and prefetching them would take their cache lines from it. */
static size_t alike_count(const struct slr_segment *s, uint64_t seq, const struct alike *a, size_t count, uint64_t fetchable,
                          int64_t *times_ns) {
    const struct slr_slot *slot = slr_slot_of(s, seq);
    const uint64_t ready = slr_word(SLR_READY, 0, slr_lap(s, seq)), lengths = a->lengths, size = a->size;
    const uint8_t *payload = a->payload;
    uint64_t end = a->end;
    size_t row = 0;
    for (; row < count; row++, slot++, end += size, payload += size) {
        uint64_t word = slr_load_acquire(&slot->word); /* partner: slr_commit */
        if ((word & ~(uint64_t)WRITER) != ready || slr_load_relaxed(&slot->lengths) != lengths || slr_load_relaxed(&slot->end) != end) break;
        if (row + AHEAD < fetchable) __builtin_prefetch(slot + AHEAD);
        __builtin_prefetch(payload);
        if (times_ns) times_ns[row] = slr_load_relaxed(&slot->time_ns);
    }
    return row;
}

/* Copy bodies into their column while type and sender behind them match; return their number. */
static size_t alike_copy(const slipring_columns *columns, const struct alike *a, size_t count) {
    const slipring_columns c = *columns; /* a copy: the compiler would read them again after every shared access */
    const uint64_t body = a->body, size = a->size, meta_at = slr_round8(body);
    uint8_t *to = c.data ? c.data + c.data_used : NULL;
    const uint8_t *payload = a->payload;
    size_t row = 0;
    if (size == body) { /* no type and sender between bodies */
        if (to) slr_copy_out(to, payload, body * count);
        return count;
    }
    for (; row < count && same_meta(&c, payload + meta_at); row++, payload += size) {
        if (!to) continue;
        slr_copy_out(to, payload, body);
        to += body;
    }
    return row;
}

/* Append up to count rows; return their number and add their bytes in the ring to *bytes. */
static size_t copy_rows(const slipring_subscriber *sub, slipring_columns *c, size_t count, uint64_t fetchable, uint64_t *bytes) {
    struct alike a;
    if (!alike_from(sub, c, &a)) return 0;
    if (count > a.most) count = a.most;
    count = alike_count(sub->s, sub->position, &a, count, fetchable, c->times_ns ? c->times_ns + c->rows : NULL);
    count = alike_copy(c, &a, count);
    const size_t used = c->data_used, first = c->rows, body = (size_t)a.body;
    int32_t *const ends = c->ends;
    int64_t *const seqs = c->seqs;
    const int64_t seq = (int64_t)sub->position;
    for (size_t i = 0; c->data && i < count; i++) ends[first + i] = (int32_t)(used + (i + 1) * body);
    for (size_t i = 0; seqs && i < count; i++) seqs[first + i] = seq + (int64_t)i;
    *bytes += count * a.size;
    return count;
}

size_t slipring_subscriber_take_columns(slipring_subscriber *sub, slipring_columns *c, size_t limit) {
    const struct slr_segment *s = sub->s;
    size_t begun = c->rows;
    uint64_t bytes = 0, last = sub->position + limit;
    if (slr_read_check(sub) || !slr_reads_all(sub)) return 0;
    /* At most a sixteenth of the ring: publishers may be waiting for room. */
    if (limit > s->slot_count / 16) limit = s->slot_count / 16;
    for (size_t part, taken = 1; taken && c->rows - begun < limit && bytes < s->capacity / 16; c->rows += taken) {
        part = limit - (c->rows - begun);
        taken = copy_rows(sub, c, part < AT_ONCE ? part : AT_ONCE, last - sub->position, &bytes);
        if (!taken || !slr_intact(sub, sub->position)) break;
        sub->position += taken;
        if (c->data) c->data_used = (size_t)c->ends[c->rows + taken - 1];
    }
    size_t rows = c->rows - begun;
    sub->peeked = false;
    sub->received += rows;
    sub->progress_messages += rows;
    sub->progress_bytes += bytes;
    if (!rows) return 0;
    sub->slice_ns = 0;
    slr_read_show_progress(sub);
    return rows;
}
