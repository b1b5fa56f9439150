/* SPDX-License-Identifier: Apache-2.0
 *
 * Inspecting a topic: counters and tables as they are in shared memory. Writes nothing and needs no other process.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/copy.h"
#include "base/error.h"
#include "ring/loss.h"
#include "ring/ring.h"
#include "topic/peers.h"

struct slipring_inspector {
    struct slr_segment *s;
};

int slipring_inspector_open(const char *bus, const char *topic, slipring_inspector **out) {
    slipring_inspector *inspector = calloc(1, sizeof *inspector);
    if (!inspector) return slr_error_errno("cannot inspect topic '%s'", topic);
    int code = slr_segment_open(bus, topic, SLR_INSPECT, &inspector->s);
    if (code)
        free(inspector);
    else
        *out = inspector;
    return code;
}

void slipring_inspector_close(slipring_inspector *inspector) {
    slr_segment_close(inspector->s);
    free(inspector);
}

/* Count messages, abandoned and open sequences below tail; repeat if a stride is reclaimed in the meantime. */
static void count_sequences(const struct slr_segment *s, slipring_topic_info *out) {
    for (int attempt = 0; attempt < 1000; attempt++) {
        uint64_t abandoned, open = 0;
        if (!slr_loss_oldest(s, &out->oldest, &abandoned)) break;
        uint64_t tail = out->tail = slr_load_acquire(&s->ring->tail);
        uint64_t word = slr_load_acquire(&slr_slot_of(s, tail)->word);
        if (slr_word_lap(word) == slr_lap(s, tail) && slr_word_state(word) == SLR_READY) out->tail = ++tail;
        if (tail - out->oldest > s->slot_count) continue;
        for (uint64_t seq = out->oldest; seq < tail; seq++) {
            word = slr_load_acquire(&slr_slot_of(s, seq)->word);
            bool claimed = slr_word_state(word) == SLR_CLAIMED;
            bool dead = claimed && slr_writer_dead(s, slr_word_writer(word));
            if (slr_word_state(word) == SLR_GONE || dead) abandoned++;
            if (claimed && !dead) open++;
        }
        if (slr_load_acquire(&s->ring->oldest) != out->oldest) continue;
        out->abandoned = abandoned;
        out->unsettled = open;
        out->published = tail - abandoned - open;
        return;
    }
}

int slipring_inspector_topic(slipring_inspector *inspector, slipring_topic_info *out) {
    const struct slr_segment *s = inspector->s;
    struct stat status;
    int code = slr_segment_check_file(s);
    if (code) return code;
    memset(out, 0, sizeof *out);
    if (fstat(s->ring_fd, &status) == 0) {
        out->mode = status.st_mode & 0777;
        out->file_bytes = (uint64_t)status.st_size;
    }
    out->generation = s->generation;
    out->capacity = s->capacity;
    out->slots = s->slot_count;
    out->created_ns = s->ring->created_ns;
    out->creator_pid = s->ring->creator_pid;
    out->max_readers = s->reader_count;
    out->max_writers = s->writer_count;
    out->max_cursors = s->cursor_count;
    out->delivery = s->delivery;
    out->writers = s->writers;
    out->content = s->content;
    out->schema_size = s->schema_size;
    out->freed = slr_load_acquire(&s->ring->freed);
    count_sequences(s, out);
    for (uint32_t e = 0; e < s->writer_count; e++) out->bytes += slr_load_relaxed(&s->writer[e].bytes);
    return SLIPRING_OK;
}

int slipring_inspector_schema(const slipring_inspector *inspector, void *buffer, size_t room, size_t *size) {
    return slr_segment_schema(inspector->s, buffer, room, size);
}

static int no_such_entry(uint32_t entry, uint32_t count) {
    return slr_error(SLIPRING_BAD_ARGUMENT, "entry", "entry=%u is out of range: the table has %u entries", entry, count);
}

int slipring_inspector_writer(slipring_inspector *inspector, uint32_t entry, slipring_writer_info *out) {
    const struct slr_segment *s = inspector->s;
    if (entry >= s->writer_count) return no_such_entry(entry, s->writer_count);
    const struct slr_writer *w = &s->writer[entry];
    memset(out, 0, sizeof *out);
    uint64_t state = slr_load_acquire(&w->state);
    out->used = !slr_kind_is(state, SLR_KIND_FREE);
    out->incarnation = slr_kind_incarnation(state);
    out->alive = out->used && !slr_writer_dead(s, entry);
    out->published = slr_load_relaxed(&w->published) - slr_load_relaxed(&w->published_before);
    out->bytes = slr_load_relaxed(&w->bytes) - slr_load_relaxed(&w->bytes_before);
    out->pid = slr_load_relaxed(&w->pid);
    slr_copy_out(out->name, w->name, sizeof w->name);
    return SLIPRING_OK;
}

int slipring_inspector_reader(slipring_inspector *inspector, uint32_t entry, slipring_reader_info *out) {
    const struct slr_segment *s = inspector->s;
    if (entry >= s->reader_count) return no_such_entry(entry, s->reader_count);
    const struct slr_reader *r = &s->reader[entry];
    uint64_t state = slr_load_acquire(&r->state);
    memset(out, 0, sizeof *out);
    out->kind = (int)(state & SLR_KIND_MASK);
    out->used = out->kind != SLR_KIND_FREE;
    out->alive = out->used && !slr_reader_dead(s, entry);
    out->position = slr_load_relaxed(&r->position);
    out->hold = slr_load_relaxed(&r->hold);
    out->holds = out->used && out->hold != SLR_NO_HOLD && (out->kind != SLR_KIND_RELIABLE || out->hold < out->position);
    out->received = slr_load_relaxed(&r->received);
    out->lost = slr_load_relaxed(&r->lost);
    out->filtered = slr_load_relaxed(&r->filtered);
    out->pid = slr_load_relaxed(&r->pid);
    out->since_ns = slr_load_relaxed(&r->since_ns);
    return SLIPRING_OK;
}

int slipring_inspector_cursor(slipring_inspector *inspector, uint32_t entry, slipring_cursor_info *out) {
    const struct slr_segment *s = inspector->s;
    if (entry >= s->cursor_count) return no_such_entry(entry, s->cursor_count);
    const struct slr_cursor *c = &s->cursor[entry];
    memset(out, 0, sizeof *out);
    out->used = slr_kind_is(slr_load_acquire(&c->state), SLR_KIND_CURSOR);
    out->attached = out->used && slr_cursor_attached(s, entry);
    out->position = slr_load_relaxed(&c->position);
    out->touched_ns = slr_load_relaxed(&c->touched_ns);
    out->expires_ns = slr_load_relaxed(&c->expires_ns);
    out->created_ns = slr_load_relaxed(&c->created_ns);
    slr_copy_out(out->name, c->name, SLIPRING_MAX_CURSOR_NAME);
    return SLIPRING_OK;
}

/* Check the invariants that hold between any two steps of any process (docs/spec/invariants.md). */
int slipring_inspector_verify(slipring_inspector *inspector) {
    const struct slr_segment *s = inspector->s;
    uint64_t freed, oldest, tail;
    int attempts = 0;
    do { /* at one moment: while freed does not change, the others stay within one ring of it */
        freed = slr_load_acquire(&s->ring->freed);
        oldest = slr_load_acquire(&s->ring->oldest);
        tail = slr_load_acquire(&s->ring->tail) + 1; /* tail may not count the newest message of a single writer yet */
    } while (slr_load_acquire(&s->ring->freed) != freed && ++attempts < 1000);
    if (attempts == 1000) return SLIPRING_OK; /* too busy for a consistent view, which shows that it works */
    if (freed > oldest || oldest > tail || tail - freed > s->slot_count)
        return slr_error(SLIPRING_CORRUPT, "topic", "freed=%" PRIu64 " oldest=%" PRIu64 " tail=%" PRIu64 " are not in order",
                         freed, oldest, tail - 1);
    for (uint64_t seq = oldest; seq + 1 < tail; seq++) {
        uint64_t word = slr_load_acquire(&slr_slot_of(s, seq)->word);
        if (slr_word_lap(word) == slr_lap(s, seq) && slr_word_state(word) != SLR_FREE) continue;
        if (slr_load_acquire(&s->ring->freed) > seq) continue; /* reused while we looked */
        return slr_error(SLIPRING_CORRUPT, "topic", "the slot of sequence %" PRIu64 " carries another sequence", seq);
    }
    return SLIPRING_OK;
}
