/* SPDX-License-Identifier: Apache-2.0
 *
 * Opening and closing a frame writer. Its publisher is the only one of the topic, so no other process changes the pool.
 *
 * A writer opens the pool with the requested streams and continues it, or creates another one. Before the other pool gets the
 * name, the old one is marked as replaced. A reader that meets an announcement of an unknown pool sees from the mark whether to
 * look for a newer file. If the writer died between mark and rename, the mark only makes readers look; the next writer
 * removes it. Stream ids continue by stream name: the new pool has the counts at the change.
 */
#include "frames/writer.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/crash_points.h"
#include "base/defects.h"
#include "base/error.h"
#include "ports/publisher.h"
#include "wait/futex.h"

/* Open the pool. *out is NULL if there is none or if it belongs to an earlier topic with this name. */
static int find_pool(const slipring_frame_writer *w, const char *bus, const char *topic, struct slr_pool **out) {
    *out = NULL;
    int code = slr_pool_open(bus, topic, SLR_PUBLISH, out);
    if (code == SLIPRING_NOT_FOUND) return SLIPRING_OK;
    if (!code && (*out)->topic_generation != w->s->generation) {
        slr_pool_close(*out);
        *out = NULL;
    }
    return code;
}

/* Read the last announcement of any writer; EMPTY if there is none. */
static int find_newest(const char *bus, const char *topic, struct slr_announcement *out) {
    slipring_subscriber_settings how = {.start = SLIPRING_START_NEW, .lossy = -1};
    slipring_subscriber *sub;
    int code = slipring_subscriber_open(bus, topic, &how, &sub);
    if (code) return code;
    code = slr_announcement_newest(sub, out);
    slipring_subscriber_close(sub);
    return code;
}

/* Store in w->counts how many frames each stream of the pool has had. */
static int count_frames(slipring_frame_writer *w, const char *bus, const char *topic, const struct slr_pool *pool) {
    struct slr_announcement *newest = calloc(1, sizeof *newest);
    if (!newest) return slr_error_errno("cannot read the newest frame of '%s'", topic);
    int code = find_newest(bus, topic, newest);
    if (code == SLIPRING_OK || code == SLIPRING_EMPTY)
        slr_frames_counts(pool, code ? NULL : newest, w->counts);
    free(newest);
    return code == SLIPRING_EMPTY ? SLIPRING_OK : code;
}

static void carry_over(const slipring_frame_writer *w, const struct slr_pool *old, struct slr_pool *plan) {
    for (uint32_t i = 0; old && i < plan->stream_count; i++) {
        int before = slr_pool_find(old, plan->stream[i].name);
        if (before >= 0) plan->first_id[i] = w->counts[before];
    }
}

static uint32_t ring_mode(const struct slr_segment *s) {
    struct stat status;
    return fstat(s->ring_fd, &status) == 0 ? status.st_mode & 0777 : 0600;
}

static int replace_pool(slipring_frame_writer *w, const char *bus, const char *topic, struct slr_pool *plan) {
    struct slr_pool *old = w->pool;
    uint64_t runs = old ? slr_load_relaxed(&old->header->runs) : 0;
    carry_over(w, old, plan);
    slr_death_wake_set(&w->s->readers->death_wake);
    if (old) {
        if (!SLR_DEFECT(replaced_pool_not_marked)) slr_store_release(&old->header->replaced, 1);
        SLR_CRASH_POINT("pool.marked_replaced");
        slr_pool_close(old);
    }
    w->pool = NULL;
    int code = slr_pool_create(bus, topic, plan, w->s->generation, runs, ring_mode(w->s));
    if (!code) code = slr_pool_open(bus, topic, SLR_PUBLISH, &w->pool);
    if (!code) {
        memcpy(w->counts, plan->first_id, sizeof plan->first_id);
        slr_wake_all(&w->s->readers->wake); /* waiting readers check their streams */
    }
    slr_death_wake_clear();
    return code;
}

/* Free the buffers that a dead writer had not finished. */
static void recover_buffers(slipring_frame_writer *w) {
    for (uint32_t b = 0; b < w->pool->buffer_count; b++) {
        uint64_t word = slr_load_relaxed(&w->pool->buffer[b].word);
        if (slr_buffer_number(word) > w->number) w->number = slr_buffer_number(word);
        if (slr_buffer_state_of(word) == SLR_BUFFER_SENT || SLR_DEFECT(dead_writer_marks_kept)) continue;
        slr_store_relaxed(&w->pool->buffer[b].word, slr_buffer_word(SLR_BUFFER_FREE, slr_buffer_number(word)));
        SLR_CRASH_POINT("pool.recovered");
    }
}

static int take_over(slipring_frame_writer *w, const char *bus, const char *topic, const slipring_stream *streams,
                     size_t count) {
    struct slr_pool plan;
    int code = count ? slr_pool_plan(&plan, streams, count) : SLIPRING_OK;
    if (!code) code = slr_pool_clean(bus, topic);
    if (!code) code = find_pool(w, bus, topic, &w->pool);
    if (!code && w->pool) code = count_frames(w, bus, topic, w->pool);
    if (code) return code;
    if (!count && !w->pool)
        return slr_error(SLIPRING_BAD_ARGUMENT, "shape", "topic '%s' has no frame buffers yet: pass shape= and dtype=", topic);
    if (count && !(w->pool && slr_pool_same_streams(w->pool, &plan))) code = replace_pool(w, bus, topic, &plan);
    if (code) return code;
    slr_store_relaxed(&w->pool->header->replaced, 0);
    w->run = slr_load_relaxed(&w->pool->header->runs) + 1;
    slr_store_relaxed(&w->pool->header->runs, w->run);
    recover_buffers(w);
    return SLIPRING_OK;
}

int slipring_frame_writer_open(slipring_publisher *pub, const char *bus, const char *topic, const slipring_stream *streams,
                               size_t count, slipring_frame_writer **out) {
    struct slr_segment *s = slr_publisher_segment(pub);
    if (s->content != SLR_FRAMES || s->writers != SLR_ONE)
        return slr_error(SLIPRING_BAD_ARGUMENT, "content", "'%s' is not a frames topic", topic);
    slipring_frame_writer *w = calloc(1, sizeof *w);
    if (!w) return slr_error_errno("cannot open a frame writer");
    w->pub = pub;
    w->s = s;
    int code = take_over(w, bus, topic, streams, count);
    if (code) {
        if (w->pool) slr_pool_close(w->pool);
        free(w);
        return code;
    }
    *out = w;
    return SLIPRING_OK;
}

void slipring_frame_writer_stop(slipring_frame_writer *w) {
    for (uint32_t b = 0; w->pub && b < w->pool->buffer_count; b++)
        if (w->open >> b & 1) slipring_frame_writer_abort(w, b);
    w->pub = NULL;
}

void slipring_frame_writer_close(slipring_frame_writer *w) {
    slipring_frame_writer_stop(w);
    slr_pool_close(w->pool);
    free(w);
}

const slipring_stream *slipring_frame_writer_streams(const slipring_frame_writer *w, size_t *count) {
    *count = w->pool->stream_count;
    return w->pool->stream;
}
