/* SPDX-License-Identifier: Apache-2.0
 *
 * Inspecting a frames topic: its streams, and how many of their buffers live readers hold. Writes nothing.
 */
#include <string.h>

#include "base/error.h"
#include "frames/pool.h"
#include "ring/ring.h"
#include "topic/peers.h"

static uint64_t held_by_live_readers(const struct slr_segment *s, uint64_t generation) {
    uint64_t held = 0;
    for (uint32_t e = 0; e < s->reader_count; e++) {
        const struct slr_reader *r = &s->reader[e];
        bool used = !slr_kind_is(slr_load_acquire(&r->state), SLR_KIND_FREE);
        if (used && slr_load_acquire(&r->pool) == generation && slr_load_acquire(&r->held) && !slr_reader_dead(s, e))
            held |= slr_load_acquire(&r->held);
    }
    return held;
}

static void describe(const struct slr_pool *pool, const struct slr_segment *s, slipring_pool_info *out) {
    uint64_t held = held_by_live_readers(s, pool->generation);
    memset(out, 0, sizeof *out);
    out->generation = pool->generation;
    out->file_bytes = pool->file_size;
    out->created_ns = pool->header->created_ns;
    out->runs = slr_load_relaxed(&pool->header->runs);
    out->stream_count = pool->stream_count;
    memcpy(out->stream, pool->stream, sizeof out->stream);
    for (uint32_t i = 0; i < pool->stream_count; i++)
        for (uint32_t b = 0; b < pool->stream[i].buffers; b++)
            out->held[i] += (uint32_t)(held >> (pool->first_buffer[i] + b) & 1);
}

int slipring_pool_inspect(const char *bus, const char *topic, slipring_pool_info *out) {
    struct slr_segment *s;
    struct slr_pool *pool = NULL;
    int code = slr_segment_open(bus, topic, SLR_INSPECT, &s);
    if (code) return code;
    if (s->content != SLR_FRAMES)
        code = slr_error_exists("topic", "messages", "frames", "topic '%s' carries messages, not frames", topic);
    if (!code) code = slr_pool_open(bus, topic, SLR_INSPECT, &pool);
    if (code == SLIPRING_NOT_FOUND)
        code = slr_error(SLIPRING_NOT_FOUND, "topic", "frames topic '%s' has no buffers: no publisher has opened it yet", topic);
    if (pool && pool->topic_generation != s->generation)
        code = slr_error(SLIPRING_CORRUPT, "topic", "'%s.frames' belongs to another topic with that name: remove it", topic);
    else if (pool)
        describe(pool, s, out);
    if (pool) slr_pool_close(pool);
    slr_segment_close(s);
    return code;
}
