/* SPDX-License-Identifier: Apache-2.0
 *
 * Taking frames: how a reader gets the next frame and releases it. It follows the announcements of the topic. For each one it
 * holds the buffer (fill.c explains why that is correct) or counts the frame as lost. Ids are consecutive, so the next id also
 * shows how many frames were lapped in the ring.
 *
 * The contents of the files are not trusted: an announcement is checked against the private copy of the pool's geometry.
 */
#include <inttypes.h>

#include "base/crash_points.h"
#include "base/defects.h"
#include "base/error.h"
#include "frames/reader.h"

#define PASSED_OVER 1 /* not one of the public codes */
#define AT_ONCE 8192  /* announcements skipped in one call; then the caller checks its deadline */

static void account(slipring_frame_reader *r, const struct slr_frame *f) {
    uint64_t *expected = &r->expected[f->stream], missed = f->id > *expected ? f->id - *expected : 0;
    if (*expected != SLR_ANY_ID && r->conflate) r->filtered += missed;
    if (*expected != SLR_ANY_ID && !r->conflate && !SLR_DEFECT(frame_gaps_not_counted)) r->lost += missed;
    *expected = f->id + 1;
}

static bool fits(const struct slr_pool *pool, const struct slr_announcement *a) {
    const struct slr_frame *f = &a->frame;
    return a->count == pool->stream_count && f->stream < pool->stream_count && f->buffer >= pool->first_buffer[f->stream] &&
           (f->buffer - pool->first_buffer[f->stream] < pool->stream[f->stream].buffers ||
            SLR_DEFECT(announcement_of_any_buffer)) &&
           f->number && !(pool->held >> f->buffer & 1);
}

static bool hold(slipring_frame_reader *r, const struct slr_frame *f) {
    struct slr_pool *pool = r->pool;
    const _Atomic uint64_t *word = &pool->buffer[f->buffer].word;
    uint64_t sent = slr_buffer_word(SLR_BUFFER_SENT, f->number);
    SLR_CRASH_POINT("frame_reader.told");
    if (slr_load_acquire(word) != sent) return false; /* without a bit that would disturb the writer */
    uint64_t bit = UINT64_C(1) << f->buffer;
    slr_store_relaxed(&r->sub->self->held, pool->held | bit);
    SLR_CRASH_POINT("frame_reader.bit_set");
    slr_fence_seq_cst(); /* partner: the fence in claim (fill.c) */
    if (!SLR_DEFECT(no_recheck_after_bit) && slr_load_acquire(word) != sent) {
        slr_store_release(&r->sub->self->held, pool->held);
        SLR_CRASH_POINT("frame_reader.bit_withdrawn");
        return false;
    }
    pool->held |= bit;
    SLR_CRASH_POINT("frame_reader.held");
    return true;
}

static void describe(const slipring_frame_reader *r, slipring_frame *out) {
    const struct slr_announcement *a = &r->announcement;
    *out = (slipring_frame){.data = r->pool->base + r->pool->offset[a->frame.buffer],
                            .size = r->pool->frame_bytes[a->frame.stream],
                            .stream = &r->pool->stream[a->frame.stream],
                            .meta = a->meta,
                            .meta_size = a->frame.meta_size,
                            .meta_kind = a->frame.meta_kind,
                            .id = a->frame.id,
                            .seq = a->seq,
                            .run = a->frame.run,
                            .time_ns = a->time_ns,
                            .start_ns = a->frame.start_ns,
                            .end_ns = a->frame.end_ns,
                            .token = r->pool->serial * SLR_POOL_BUFFERS + a->frame.buffer};
}

/* Hold the frame of the announcement read last.
 *   OK           held
 *   LAPPED       lost: the writer has taken the buffer again; the caller counts it
 *   PASSED_OVER  lost with its pool, which no longer exists; the next id counts it
 *   CORRUPT      the announcement names an impossible buffer
 *   other codes  the reader cannot change to the new pool (slr_frame_follow) */
static int take_announced(slipring_frame_reader *r) {
    const struct slr_announcement *a = &r->announcement;
    if (!r->pool || r->pool->generation != a->frame.pool) {
        int code = slr_frame_follow(r);
        if (code && code != SLIPRING_EMPTY) return code;
        if (!r->pool || r->pool->generation != a->frame.pool) return PASSED_OVER;
    }
    if (!fits(r->pool, a))
        return slr_error(SLIPRING_CORRUPT, "topic", "announcement %" PRIu64 " names an impossible buffer", a->seq);
    account(r, &a->frame);
    return hold(r, &a->frame) ? SLIPRING_OK : SLIPRING_LAPPED;
}

int slipring_frame_reader_take(slipring_frame_reader *r, slipring_frame *out) {
    for (int passed = 0; passed < AT_ONCE; passed++) {
        int code = slr_announcement_next(r->sub, &r->announcement);
        if (code == SLIPRING_EMPTY) {
            if (!SLR_DEFECT(shape_change_wakes_nobody)) code = slr_frame_follow(r);
            return code ? code : SLIPRING_EMPTY;
        }
        if (!code) {
            code = take_announced(r);
            slr_read_show_progress(r->sub); /* now: a writer that sees this position and no bit may take the buffer (fill.c) */
        }
        if (code == SLIPRING_OK) {
            r->received++;
            describe(r, out);
        }
        if (code == SLIPRING_LAPPED) r->lost++;
        if (code != SLIPRING_LAPPED && code != PASSED_OVER) return code;
    }
    return SLIPRING_EMPTY;
}

static struct slr_pool **find_pool(slipring_frame_reader *r, uint64_t serial) {
    if (r->pool && r->pool->serial == serial) return &r->pool;
    struct slr_pool **link = &r->older;
    while (*link && (*link)->serial != serial) link = &(*link)->next;
    return link;
}

int slipring_frame_reader_release(slipring_frame_reader *r, uint64_t token) {
    struct slr_pool **link = find_pool(r, token / SLR_POOL_BUFFERS), *pool = *link;
    uint64_t bit = UINT64_C(1) << token % SLR_POOL_BUFFERS;
    if (!pool || !(pool->held & bit)) return slr_error(SLIPRING_BAD_ARGUMENT, "token", "this reader does not hold that frame");
    pool->held &= ~bit;
    if (pool == r->pool) {
        int code = slr_read_check(r->sub);
        if (code == SLIPRING_FORKED) return code;
        /* Release, partner of the writer's acquire (scan_readers): this reader has finished with the frame. */
        slr_store_release(&r->sub->self->held, pool->held);
        SLR_CRASH_POINT("frame_reader.released");
    } else if (!pool->held) {
        *link = pool->next;
        slr_pool_close(pool);
    }
    return SLIPRING_OK;
}
