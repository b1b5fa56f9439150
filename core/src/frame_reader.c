/* SPDX-License-Identifier: Apache-2.0
 *
 * A frame reader's life, and where it starts.
 */
#include "frame_reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fault.h"

static int check_subscriber(const slipring_subscriber *sub, const char *topic) {
    if (sub->s->content != SLR_FRAMES)
        return slr_fault_exists("topic", "messages", "frames", "topic '%s' carries messages, not frames: use bus.subscriber()",
                                topic);
    if (sub->self) return SLIPRING_OK;
    if (!sub->s->readers_writable)
        return slr_fault(SLIPRING_DENIED, "topic", "holding frames of '%s' needs write permission on '%s.readers'", topic, topic);
    return slr_fault(SLIPRING_TOO_MANY_READERS, "max_readers",
                     "'%s' has its max_readers=%u live subscribers, and only they can hold frames: create it with more", topic,
                     sub->s->reader_count);
}

static int filter_stream(slipring_frame_reader *r) {
    slipring_text type = {r->stream, strlen(r->stream)};
    slipring_filter filter = {.types = &type, .type_count = 1, .only_types = true};
    slr_filter_free(r->sub->filter);
    r->sub->filter = NULL;
    return slr_filter_copy(r->stream[0] ? &filter : NULL, &r->sub->filter);
}

/* From the subscriber's place on: whoever saw it attach may have sent since. The announcement before tells what each
 * stream had had until then. */
static int start_new(slipring_frame_reader *r) {
    int code = slr_announcement_before(r->sub, &r->news);
    if (code && code != SLIPRING_EMPTY) return code;
    if (r->pool) slr_frames_counts(r->pool, code ? NULL : &r->news, r->expected);
    return SLIPRING_OK;
}

/* With the newest frame of the stream, if there is one. */
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

static bool copy_settings(slipring_frame_reader *r, const char *bus, const char *topic, const slipring_frame_reading *how) {
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
                               const slipring_frame_reading *how, slipring_frame_reader **out) {
    int code = check_subscriber(sub, topic);
    if (!code && how->stream) code = slipring_check_name("stream", how->stream);
    if (code) return code;
    slipring_frame_reader *r = calloc(1, sizeof *r);
    if (!r) return slr_fault_errno("cannot open a frame reader");
    r->sub = sub;
    code = copy_settings(r, bus, topic, how) ? filter_stream(r) : slr_fault_errno("cannot open a frame reader");
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
