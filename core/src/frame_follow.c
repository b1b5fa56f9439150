/* SPDX-License-Identifier: Apache-2.0
 *
 * Which pool a reader reads. One that was replaced stays mapped until an announcement of its successor arrives, or
 * nothing is left to read, and then until its last frame is released: what was announced before the change is still
 * read, and nobody writes it any more.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "defects.h"
#include "fault.h"
#include "frame_reader.h"
#include "points.h"

static bool reads(const slipring_frame_reader *r, const slipring_stream *s) {
    return !r->stream[0] || strcmp(r->stream, s->name) == 0;
}

static void shape_text(const slipring_stream *s, char text[64]) {
    size_t used = (size_t)snprintf(text, 64, "(");
    for (uint32_t d = 0; d < s->dimensions && used < 64; d++)
        used += (size_t)snprintf(text + used, 64 - used, d ? ", %" PRIu64 : "%" PRIu64, s->shape[d]);
    if (used < 64) snprintf(text + used, 64 - used, s->dimensions == 1 ? ",)" : ")");
}

static int check_insisted(const slipring_frame_reader *r, const slipring_stream *s, const slipring_stream *asked) {
    char found_shape[64], asked_shape[64];
    if (asked->name[0] && strcmp(asked->name, s->name) != 0) return SLIPRING_OK;
    if (asked->dtype[0] && strcmp(asked->dtype, s->dtype) != 0)
        return slr_fault_exists("dtype", s->dtype, asked->dtype, "stream '%s' of '%s' has dtype=%s, asked for %s", s->name,
                                r->topic, s->dtype, asked->dtype);
    shape_text(s, found_shape);
    shape_text(asked, asked_shape);
    if (asked->dimensions && (asked->dimensions != s->dimensions ||
                              memcmp(asked->shape, s->shape, s->dimensions * sizeof s->shape[0]) != 0))
        return slr_fault_exists("shape", found_shape, asked_shape, "stream '%s' of '%s' has shape=%s, asked for %s", s->name,
                                r->topic, found_shape, asked_shape);
    return SLIPRING_OK;
}

static int check_streams(const slipring_frame_reader *r, const struct slr_pool *pool) {
    char names[200] = "";
    if (r->stream[0] && slr_pool_find(pool, r->stream) < 0 && !SLR_DEFECT(unknown_stream_waited_for)) {
        for (uint32_t i = 0, used = 0; i < pool->stream_count && used < sizeof names; i++)
            used += (uint32_t)snprintf(names + used, sizeof names - used, i ? ", '%s'" : "'%s'", pool->stream[i].name);
        return slr_fault(SLIPRING_NOT_FOUND, "stream", "'%s' has no stream '%s': there are %s", r->topic, r->stream, names);
    }
    for (uint32_t i = 0; i < pool->stream_count; i++)
        for (size_t k = 0; reads(r, &pool->stream[i]) && k < r->insist_count; k++) {
            int code = SLR_DEFECT(insisted_shape_ignored) ? SLIPRING_OK : check_insisted(r, &pool->stream[i], &r->insist[k]);
            if (code) return code;
        }
    return SLIPRING_OK;
}

/* Pools ------------------------------------------------------------------------------------------------------ */

static void expect_by_name(slipring_frame_reader *r, const struct slr_pool *pool) {
    uint64_t expected[SLR_POOL_STREAMS];
    for (uint32_t i = 0; i < pool->stream_count; i++) {
        int before = r->pool ? slr_pool_find(r->pool, pool->stream[i].name) : -1;
        expected[i] = before >= 0 ? r->expected[before] : r->pool ? pool->first_id[i] : r->unseen;
    }
    memcpy(r->expected, expected, sizeof expected);
}

static void adopt(slipring_frame_reader *r, struct slr_pool *pool) {
    struct slr_pool *old = r->pool;
    expect_by_name(r, pool);
    pool->serial = ++r->serial;
    r->pool = pool;
    /* The mask before the pool: no bit of the old one is ever taken for one of the new (look_at_readers). */
    slr_publish(&r->sub->self->held, 0);
    SLR_POINT("frame_reader.let_go");
    slr_publish(&r->sub->self->pool, pool->generation);
    SLR_POINT("frame_reader.adopted");
    if (old && old->held) {
        old->next = r->older;
        r->older = old;
    } else if (old) {
        slr_pool_close(old);
    }
}

int slr_frame_follow(slipring_frame_reader *r) {
    struct slr_pool *found;
    if (r->pool && !slr_observe(&r->pool->header->replaced)) return SLIPRING_EMPTY;
    int code = slr_pool_open(r->bus, r->topic, SLR_SUBSCRIBE, &found);
    if (code == SLIPRING_NOT_FOUND) return SLIPRING_EMPTY;
    if (code) return code;
    if ((r->pool && r->pool->generation == found->generation) || found->topic_generation != r->sub->s->generation)
        code = SLIPRING_EMPTY;
    else
        code = check_streams(r, found);
    if (code)
        slr_pool_close(found);
    else
        adopt(r, found);
    return code;
}
