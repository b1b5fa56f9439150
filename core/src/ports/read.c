/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading. A reader polls the word of the slot of its position. READY with the right lap is a message.
 *
 * By copy, without a hold: load the word with acquire, copy the fields of the slot and the payload with relaxed loads, fence, and
 * load oldest. If oldest has not passed the position, nothing that was copied had been overwritten. Otherwise the reader was
 * lapped: it continues at oldest and counts the messages in between as lost (loss.c). Laps have full width, so a reader that
 * is any number of laps behind notices it.
 *
 * A reliable reader, with or without a cursor, has a hold at or below its position and needs no check.
 *
 * Every value is checked or masked before it is used: contents can be wrong but not dangerous.
 *
 * A conflating reader receives only the newest message. It jumps ahead in O(1) and counts the skipped messages later, some slots
 * at a time: every message in [start, counted_to) that was not received was filtered.
 *
 * Draining shows many messages in shared memory to a sink.
 */
#include "base/copy.h"
#include "base/defects.h"
#include "ports/read.h"
#include "ring/loss.h"
#include "wait/futex.h"

#define AHEAD 16 /* messages: how far ahead slots and payload are prefetched */

int slr_read_check(slipring_subscriber *sub) {
    if (slr_load_relaxed(&sub->interrupted) && !SLR_DEFECT(closing_does_not_end_a_wait))
        return slr_error(SLIPRING_CLOSED, "", "the subscriber is closed");
    return slr_segment_check(sub->s);
}

bool slipring_subscriber_intact(const slipring_subscriber *sub) { return slr_intact(sub, sub->position); }

/* Progress, which publishers and `stats` see ----------------------------------------------------------------- */

/* Wake publishers that wait for room when a sixteenth of the ring is free, or nothing is left to read. No fence: the next
 * wake-up, or the end of the publisher's slice, makes up for a missed one. */
static void help_publishers(slipring_subscriber *sub, bool always) {
    if (!sub->holds_position || !sub->s->readers_writable) return;
    if (!always && sub->progress_messages < sub->s->slot_count / 16 && sub->progress_bytes < sub->s->capacity / 16) return;
    sub->progress_messages = sub->progress_bytes = 0;
    slr_wake_sleepers(&sub->s->readers->space);
}

void slr_read_show_progress(slipring_subscriber *sub) {
    if (!sub->self) return;
    slr_store_relaxed(&sub->self->position, sub->position);
    slr_store_relaxed(&sub->self->received, sub->received);
    slr_store_relaxed(&sub->self->filtered, sub->filtered);
    if (sub->holds_position && sub->cursor < 0) slr_hold_publish(sub);
    help_publishers(sub, false);
}

static void advance(slipring_subscriber *sub) {
    sub->position++;
    sub->received++;
    sub->peeked = false;
    sub->progress_messages++;
    sub->progress_bytes += sub->peeked_size;
}

/* Lapped: continue at the oldest message and count the loss ----------------------------------------------- */

static int resync(slipring_subscriber *sub) {
    const struct slr_segment *s = sub->s;
    struct slr_loss loss;
    /* tail may not count the message that a single writer has just made READY */
    if (sub->holds_position || !slr_loss_from(s, sub->position, sub->abandoned, &loss) ||
        (int64_t)(loss.oldest - slr_load_acquire(&s->ring->tail)) > 1)
        return slr_error_damaged("a message was reclaimed while a reader held it");
    if (!SLR_DEFECT(losses_not_counted)) sub->lost += loss.messages;
    sub->position = loss.oldest;
    sub->abandoned = loss.abandoned;
    if (sub->self) slr_store_relaxed(&sub->self->lost, sub->lost);
    return SLIPRING_OK;
}

/* Conflate: read the newest message, count the skipped ones later ----------------------------------------------- */

void slr_read_count_skipped(slipring_subscriber *sub, uint64_t limit) {
    const struct slr_segment *s = sub->s;
    for (; limit && sub->counted_to < sub->position; limit--) {
        uint64_t word;
        struct slr_loss loss;
        enum slr_finding finding = slr_slot_read(s, sub->counted_to, &word);
        if (finding == SLR_OPEN_CLAIM || finding == SLR_NOTHING || finding == SLR_DAMAGED) break;
        if (finding == SLR_OVERTAKEN || slr_load_relaxed(&s->ring->oldest) > sub->counted_to) {
            if (!slr_loss_from(s, sub->counted_to, sub->abandoned, &loss) || loss.oldest > sub->position) break;
            sub->counted_messages += loss.messages;
            sub->counted_to = loss.oldest;
            sub->abandoned = loss.abandoned;
            continue;
        }
        if (finding == SLR_FOUND)
            sub->counted_messages++;
        else if (sub->abandoned != SLR_UNKNOWN)
            sub->abandoned++;
        sub->counted_to++;
    }
    uint64_t filtered = sub->counted_messages - sub->received;
    if (sub->counted_messages > sub->received && filtered > sub->filtered) sub->filtered = filtered;
}

static void conflate_to(slipring_subscriber *sub, uint64_t position) {
    if (position == sub->position) return;
    sub->position = position;
    slr_read_count_skipped(sub, SLR_COUNT_AT_ONCE);
    slr_read_show_progress(sub);
}

/* Return the newest message that passes the filter, at or after position; the messages in between are filtered. The search ends
 * at an overtaken slot: everything below it is gone, too, and everything above it was checked. */
static SLR_NOINLINE int peek_newest(slipring_subscriber *sub, slipring_message *out) {
    const struct slr_segment *s = sub->s;
    uint64_t oldest = slr_load_acquire(&s->ring->oldest); /* loaded before tail, which only grows: so it cannot be beyond tail */
    uint64_t newest = slr_load_acquire(&s->ring->tail), word;
    if (slr_slot_read_word(s, newest, &word) == SLR_FOUND) newest++; /* a single writer stores READY before tail */
    if ((int64_t)(newest - sub->position) <= 0) return SLIPRING_EMPTY;
    uint64_t lowest = newest - sub->position > s->slot_count ? newest - s->slot_count : sub->position;
    if ((int64_t)(oldest - newest) > 1) return slr_error_damaged("oldest is beyond tail");
    if (!sub->holds_position && lowest < oldest) lowest = oldest;
    uint64_t next = newest; /* where the next search begins: not past a claim that may still be committed */
    for (uint64_t seq = newest; seq-- > lowest;) {
        enum slr_finding finding = slr_slot_read(s, seq, &word);
        if (finding == SLR_OVERTAKEN) break;
        if (finding == SLR_DAMAGED) return slr_error_damaged("a slot is in an unknown state");
        if (finding == SLR_OPEN_CLAIM || finding == SLR_NOTHING) next = seq;
        if (finding != SLR_FOUND) continue;
        int code = slr_describe(sub, seq, out);
        if (code == SLIPRING_OK) code = slr_filter_message(sub, word, out);
        if (code == SLIPRING_LAPPED) break;
        if (code == SLIPRING_OK) sub->position = seq;
        if (code != SLIPRING_EMPTY) return code;
    }
    conflate_to(sub, next);
    return SLIPRING_EMPTY;
}

/* The peeked message was overwritten. Advance the position; LAPPED: read again from there. */
static SLR_NOINLINE int give_up_peeked(slipring_subscriber *sub) {
    sub->peeked = false;
    int code = SLIPRING_OK;
    if (sub->conflate)
        conflate_to(sub, sub->position + 1); /* this message is gone; the newest one is behind it */
    else
        code = resync(sub);
    return code ? code : SLIPRING_LAPPED;
}

/* One message: peek, copy, accept ---------------------------------------------------------------------------- */

static SLR_NOINLINE int peek_next(slipring_subscriber *sub, slipring_message *out) {
    const struct slr_segment *s = sub->s;
    uint64_t begun = sub->position;
    int code = SLIPRING_EMPTY;
    /* Pass at most one ring of slots in a call, so that tampered contents cannot cause an endless loop. */
    for (uint64_t steps = 0; steps <= s->slot_count; steps++) {
        uint64_t word;
        enum slr_finding finding = slr_slot_read(s, sub->position, &word);
        code = SLIPRING_EMPTY;
        if (finding == SLR_NOTHING || finding == SLR_OPEN_CLAIM) break;
        if (finding == SLR_DAMAGED) return slr_error_damaged("a slot is in an unknown state");
        if (finding == SLR_ABANDONED) {
            sub->position++;
            if (sub->abandoned != SLR_UNKNOWN) sub->abandoned++;
            continue;
        }
        if (finding == SLR_FOUND) code = slr_describe(sub, sub->position, out);
        if (finding == SLR_FOUND && code == SLIPRING_OK) code = slr_filter_message(sub, word, out);
        if (finding == SLR_OVERTAKEN || code == SLIPRING_LAPPED) {
            code = resync(sub);
            if (code) return code;
            code = SLIPRING_EMPTY;
            continue;
        }
        if (code != SLIPRING_EMPTY) break;
        sub->position++;
        if (!SLR_DEFECT(filtered_not_counted)) sub->filtered++;
        sub->progress_messages++;
    }
    if (sub->position != begun) slr_read_show_progress(sub);
    return code;
}

/* Return the next message in shared memory; after slr_read_check. */
static int peek_message(slipring_subscriber *sub, slipring_message *out) {
    sub->peeked = false;
    int code = SLIPRING_LAPPED;
    if (slr_reads_all(sub) && slr_ready_at(sub->s, sub->position)) code = slr_describe(sub, sub->position, out);
    if (code == SLIPRING_LAPPED)
        code = sub->conflate && !SLR_DEFECT(conflate_gives_next) ? peek_newest(sub, out) : peek_next(sub, out);
    sub->peeked = code == SLIPRING_OK;
    if (code == SLIPRING_OK) {
        sub->slice_ns = 0;
        sub->peeked_size = slr_message_bytes(out->size, (uint64_t)out->type_size + out->sender_size);
    }
    if (code == SLIPRING_EMPTY) help_publishers(sub, true);
    return code;
}

int slipring_subscriber_peek(slipring_subscriber *sub, slipring_message *out) {
    sub->peeked = false;
    int code = slr_read_check(sub);
    return code ? code : peek_message(sub, out);
}

int slr_read_accept(slipring_subscriber *sub) {
    if (!sub->peeked) return slr_error(SLIPRING_BAD_ARGUMENT, "", "no message was peeked that could be accepted");
    if (!slr_intact(sub, sub->position)) return give_up_peeked(sub);
    advance(sub);
    if (sub->conflate) slr_read_count_skipped(sub, SLR_COUNT_AT_ONCE);
    return SLIPRING_OK;
}

int slipring_subscriber_accept(slipring_subscriber *sub) {
    int code = slr_read_accept(sub);
    if (!code) slr_read_show_progress(sub);
    return code;
}

static int try_recv(slipring_subscriber *sub, void *buffer, size_t buffer_size, slipring_message *out, char *meta) {
    for (;;) {
        int code = slipring_subscriber_peek(sub, out);
        if (code) return code;
        if (out->size > buffer_size && slipring_subscriber_intact(sub))
            return slr_error(SLIPRING_TOO_LARGE, "buffer", "the next message has %u bytes, but the buffer has %zu", out->size,
                             buffer_size);
        if (out->size > buffer_size) out->size = (uint32_t)buffer_size; /* not the real size: accept returns LAPPED */
        slr_copy_out(buffer, out->body, out->size);
        slr_copy_out(meta, out->meta, (size_t)out->type_size + out->sender_size);
        code = slipring_subscriber_accept(sub);
        out->body = buffer;
        out->meta = meta;
        if (code != SLIPRING_LAPPED) return code;
    }
}

int slipring_subscriber_recv(slipring_subscriber *sub, void *buffer, size_t buffer_size, slipring_message *out,
                             char meta[SLIPRING_MAX_TYPE + SLIPRING_MAX_SENDER + 8], int64_t deadline_ns) {
    for (;;) {
        int code = try_recv(sub, buffer, buffer_size, out, meta);
        if (code != SLIPRING_EMPTY || deadline_ns == SLIPRING_NOW) return code;
        code = slipring_wait(&sub, 1, NULL, 0, deadline_ns, SLR_SPIN_NS);
        if (code == SLIPRING_TIMEOUT) return try_recv(sub, buffer, buffer_size, out, meta);
        if (code) return code;
    }
}

/* Many messages, shown to a sink in place -------------------------------------------------------------------- */

/* Show consecutive complete messages, at most a sixteenth of the ring: publishers may be waiting for room. Stop at any other slot;
 * drain_any handles it. OK: continue; otherwise the code to return if *count is 0. */
static int drain_plain(slipring_subscriber *sub, size_t limit, slipring_sink sink, void *context, size_t *count) {
    const struct slr_segment *s = sub->s;
    slipring_message m;
    uint64_t begun = sub->position, bytes = 0, seq = begun;
    bool refused = false, overwritten = false;
    if (limit > s->slot_count / 16) limit = s->slot_count / 16;
    for (; seq - begun < limit && bytes < s->capacity / 16 && slr_ready_at(s, seq); seq++) {
        bool fetch = seq + AHEAD - begun < limit; /* not a slot that is being written: its writer would have to fetch it again */
        if (fetch) __builtin_prefetch(slr_slot_of(s, seq + AHEAD));
        if (slr_describe(sub, seq, &m)) break;
        if (fetch) __builtin_prefetch(m.body + AHEAD * 64);
        if ((refused = !sink(context, &m)) || (overwritten = !slr_intact(sub, seq))) break;
        bytes += slr_message_bytes(m.size, (uint64_t)m.type_size + m.sender_size);
    }
    sub->position = seq;
    sub->received += seq - begun;
    sub->progress_messages += seq - begun;
    sub->progress_bytes += bytes;
    *count = (size_t)(seq - begun);
    if (overwritten) return give_up_peeked(sub); /* the sink has one invalid message beyond *count */
    return refused ? SLIPRING_FULL : SLIPRING_OK;
}

static int drain_any(slipring_subscriber *sub, size_t limit, slipring_sink sink, void *context, size_t *count) {
    slipring_message message;
    int code = SLIPRING_OK;
    while (!code && *count < limit) {
        code = peek_message(sub, &message);
        if (code || !sink(context, &message)) break;
        if (!slr_intact(sub, sub->position)) {
            code = give_up_peeked(sub); /* the sink has one invalid message beyond *count */
            break;
        }
        advance(sub);
        ++*count;
    }
    return code;
}

int slipring_subscriber_drain(slipring_subscriber *sub, size_t limit, slipring_sink sink, void *context, size_t *taken) {
    int code = slr_read_check(sub);
    size_t count = 0;
    sub->peeked = false;
    if (!code && slr_reads_all(sub)) code = drain_plain(sub, limit, sink, context, &count);
    if (!code && !count) code = drain_any(sub, limit, sink, context, &count);
    if (code == SLIPRING_FULL) code = SLIPRING_OK; /* the sink is full, not the ring */
    sub->peeked = false;
    if (count) sub->slice_ns = 0;
    *taken = count;
    if (sub->conflate) slr_read_count_skipped(sub, SLR_COUNT_AT_ONCE);
    if (count) slr_read_show_progress(sub);
    return count ? SLIPRING_OK : code;
}

/* For a wait ------------------------------------------------------------------------------------------------- */

bool slr_read_may_have_message(slipring_subscriber *sub, bool *behind_claim) {
    const struct slr_segment *s = sub->s;
    uint64_t word;
    /* Sequentially consistent: a sleeper announces itself, then checks. Partner: slr_wake_readers. */
    slr_fence_seq_cst();
    enum slr_finding finding = slr_slot_read_word(s, sub->position, &word);
    *behind_claim = finding == SLR_OPEN_CLAIM && slr_counted(s, sub->position);
    return finding == SLR_FOUND || finding == SLR_OVERTAKEN || finding == SLR_DAMAGED ||
           (finding == SLR_ABANDONED && slr_counted(s, sub->position));
}
