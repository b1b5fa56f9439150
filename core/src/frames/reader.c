/* SPDX-License-Identifier: Apache-2.0
 *
 * Opening and closing a frame reader, its start, and its pools.
 *
 * A pool that was replaced stays mapped until an announcement of its successor arrives or nothing is left to read, and then until
 * its last frame is released. So frames that were announced before the change are still read, and no process writes them.
 */
#include "frames/reader.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/crash_points.h"
#include "base/defects.h"
#include "base/error.h"

static int check_subscriber(const slipring_subscriber *sub, const char *topic) {
    if (sub->s->content != SLR_FRAMES)
        return slr_error_exists("topic", "messages", "frames", "topic '%s' carries messages, not frames: use bus.subscriber()",
                                topic);
    if (sub->self) return SLIPRING_OK;
    if (!sub->s->readers_writable)
        return slr_error(SLIPRING_DENIED, "topic", "holding frames of '%s' needs write permission on '%s.readers'", topic, topic);
    return slr_error(SLIPRING_TOO_MANY_READERS, "max_readers",
                     "topic '%s' already has max_readers=%u live subscribers; only they can hold frames: create it with a larger max_readers=", topic,
                     sub->s->reader_count);
}

static int filter_stream(slipring_frame_reader *r) {
    slipring_text type = {r->stream, strlen(r->stream)};
    slipring_filter filter = {.types = &type, .type_count = 1, .only_types = true};
    slr_filter_free(r->sub->filter);
    r->sub->filter = NULL;
    return slr_filter_copy(r->stream[0] ? &filter : NULL, &r->sub->filter);
}

/* Start at the position of the subscriber: frames may have been sent since it attached. The announcement before contains the
 * counts of that moment. */
static int start_new(slipring_frame_reader *r) {
    int code = slr_announcement_before(r->sub, &r->announcement);
    if (code && code != SLIPRING_EMPTY) return code;
    if (r->pool) slr_frames_counts(r->pool, code ? NULL : &r->announcement, r->expected);
    return SLIPRING_OK;
}

/* Start with the newest frame of the stream, if there is one. */
static int start_last(slipring_frame_reader *r) {
    slipring_message m;
    int code = slipring_subscriber_seek(r->sub, SLIPRING_START_OLDEST, 0);
    r->sub->conflate = true;
    if (!code) code = slipring_subscriber_peek(r->sub, &m);
    r->sub->conflate = r->conflate;
    if (code == SLIPRING_EMPTY) return start_new(r);
    return code ? code : slipring_subscriber_seek(r->sub, SLIPRING_START_SEQ, m.seq);
}

static int start(slipring_frame_reader *r, int where) {
    bool from_now = where == SLIPRING_START_NEW || where == SLIPRING_START_SEQ;
    r->unseen = from_now ? 0 : SLR_ANY_ID;
    int code = slr_frame_follow(r);
    if (code && code != SLIPRING_EMPTY) return code;
    if (where == SLIPRING_START_NEW) return start_new(r);
    if (where == SLIPRING_START_LAST) return start_last(r);
    return where == SLIPRING_START_OLDEST ? slipring_subscriber_seek(r->sub, where, 0) : SLIPRING_OK;
}

static bool copy_settings(slipring_frame_reader *r, const char *bus, const char *topic, const slipring_frame_reader_settings *how) {
    if (how->stream) snprintf(r->stream, sizeof r->stream, "%s", how->stream);
    r->conflate = how->conflate;
    r->insist_count = how->insist_count;
    r->bus = strdup(bus);
    r->topic = strdup(topic);
    r->insist = calloc(how->insist_count + 1, sizeof *r->insist);
    if (r->insist && how->insist_count) memcpy(r->insist, how->insist, how->insist_count * sizeof *r->insist);
    return r->bus && r->topic && r->insist;
}

int slipring_frame_reader_open(slipring_subscriber *sub, const char *bus, const char *topic,
                               const slipring_frame_reader_settings *how, slipring_frame_reader **out) {
    int code = check_subscriber(sub, topic);
    if (!code && how->stream) code = slipring_check_name("stream", how->stream);
    if (code) return code;
    slipring_frame_reader *r = calloc(1, sizeof *r);
    if (!r) return slr_error_errno("cannot open a frame reader");
    r->sub = sub;
    code = copy_settings(r, bus, topic, how) ? filter_stream(r) : slr_error_errno("cannot open a frame reader");
    sub->conflate = r->conflate;
    if (!code) code = start(r, how->start);
    if (code)
        slipring_frame_reader_close(r);
    else
        *out = r;
    return code;
}

void slipring_frame_reader_close(slipring_frame_reader *r) {
    if (r->pool) slr_pool_close(r->pool);
    for (struct slr_pool *pool = r->older, *next; pool; pool = next) {
        next = pool->next;
        slr_pool_close(pool);
    }
    free(r->insist);
    free(r->topic);
    free(r->bus);
    free(r);
}

void slipring_frame_reader_counts(const slipring_frame_reader *r, slipring_counts *out) {
    slipring_subscriber_counts(r->sub, out);
    out->received = r->received;
    out->lost = r->lost;
    out->filtered = r->filtered;
}

const slipring_stream *slipring_frame_reader_streams(const slipring_frame_reader *r, size_t *count) {
    *count = r->pool ? r->pool->stream_count : 0;
    return r->pool ? r->pool->stream : NULL;
}

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
        return slr_error_exists("dtype", s->dtype, asked->dtype, "stream '%s' of '%s' has dtype=%s, asked for %s", s->name,
                                r->topic, s->dtype, asked->dtype);
    shape_text(s, found_shape);
    shape_text(asked, asked_shape);
    if (asked->dimensions && (asked->dimensions != s->dimensions ||
                              memcmp(asked->shape, s->shape, s->dimensions * sizeof s->shape[0]) != 0))
        return slr_error_exists("shape", found_shape, asked_shape, "stream '%s' of '%s' has shape=%s, asked for %s", s->name,
                                r->topic, found_shape, asked_shape);
    return SLIPRING_OK;
}

static int check_streams(const slipring_frame_reader *r, const struct slr_pool *pool) {
    char names[200] = "";
    if (r->stream[0] && slr_pool_find(pool, r->stream) < 0 && !SLR_DEFECT(unknown_stream_waited_for)) {
        for (uint32_t i = 0, used = 0; i < pool->stream_count && used < sizeof names; i++)
            used += (uint32_t)snprintf(names + used, sizeof names - used, i ? ", '%s'" : "'%s'", pool->stream[i].name);
        return slr_error(SLIPRING_NOT_FOUND, "stream", "topic '%s' has no stream '%s'; its streams are %s", r->topic, r->stream, names);
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
    /* Clear the mask before the pool changes: a bit of the old pool is never taken for one of the new pool (scan_readers). */
    slr_store_release(&r->sub->self->held, 0);
    SLR_CRASH_POINT("frame_reader.let_go");
    slr_store_release(&r->sub->self->pool, pool->generation);
    SLR_CRASH_POINT("frame_reader.adopted");
    if (old && old->held) {
        old->next = r->older;
        r->older = old;
    } else if (old) {
        slr_pool_close(old);
    }
}

int slr_frame_follow(slipring_frame_reader *r) {
    struct slr_pool *found;
    if (r->pool && !slr_load_acquire(&r->pool->header->replaced)) return SLIPRING_EMPTY;
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
