/* SPDX-License-Identifier: Apache-2.0
 *
 * The messages of a frames topic. Each contains, beside its own frame, the number of frames that every stream has had so far. So
 * the newest message alone is the state of all streams: it is committed or it is not. A publisher that follows a dead one
 * continues the count exactly.
 */
#include <string.h>

#include "base/copy.h"
#include "base/defects.h"
#include "base/error.h"
#include "frames/announcement.h"

static int not_an_announcement(uint64_t seq) {
    return slr_error(SLIPRING_CORRUPT, "topic", "message %llu of the topic is not the announcement of a frame",
                     (unsigned long long)seq);
}

static int parse(const uint8_t *body, size_t size, struct slr_announcement *out) {
    if (size < SLR_FRAME_SIZE) return not_an_announcement(out->seq);
    memcpy(&out->frame, body, SLR_FRAME_SIZE);
    size_t meta = out->frame.meta_size, rest = size - SLR_FRAME_SIZE;
    if (meta > SLIPRING_MAX_FRAME_META || meta > rest || (rest - meta) % sizeof(uint64_t)) return not_an_announcement(out->seq);
    size_t count = (rest - meta) / sizeof(uint64_t);
    if (count < 1 || count > SLR_POOL_STREAMS || out->frame.stream >= count) return not_an_announcement(out->seq);
    out->count = (uint32_t)count;
    memcpy(out->counts, body + SLR_FRAME_SIZE, count * sizeof(uint64_t));
    memcpy(out->meta, body + SLR_FRAME_SIZE + count * sizeof(uint64_t), meta);
    return SLIPRING_OK;
}

int slr_announcement_next(slipring_subscriber *sub, struct slr_announcement *out) {
    uint8_t body[SLR_ANNOUNCEMENT_SIZE];
    slipring_message m;
    int code;
    do {
        code = slipring_subscriber_peek(sub, &m);
        if (code) return code;
        if (m.size <= sizeof body) slr_copy_out(body, m.body, m.size);
        code = slr_read_accept(sub);
    } while (code == SLIPRING_LAPPED);
    if (code) return code;
    out->seq = m.seq;
    out->time_ns = m.time_ns;
    return m.size <= sizeof body ? parse(body, m.size, out) : not_an_announcement(m.seq);
}

static int read_at(slipring_subscriber *sub, int start, uint64_t seq, struct slr_announcement *out) {
    struct slr_filter *filter = sub->filter;
    bool conflate = sub->conflate;
    sub->filter = NULL;
    sub->conflate = false;
    int code = slipring_subscriber_seek(sub, start, seq);
    if (!code) code = slr_announcement_next(sub, out);
    sub->filter = filter;
    sub->conflate = conflate;
    return code;
}

int slr_announcement_newest(slipring_subscriber *sub, struct slr_announcement *out) {
    return read_at(sub, SLIPRING_START_LAST, 0, out);
}

int slr_announcement_before(slipring_subscriber *sub, struct slr_announcement *out) {
    uint64_t position = sub->position;
    if (position == 0) return SLIPRING_EMPTY;
    int code = read_at(sub, SLIPRING_START_SEQ, position - 1, out);
    return code || out->seq == position - 1 ? code : slr_announcement_newest(sub, out); /* the whole ring was overwritten in the meantime */
}

void slr_frames_counts(const struct slr_pool *pool, const struct slr_announcement *newest, uint64_t *counts) {
    bool current = newest && newest->frame.pool == pool->generation && newest->count == pool->stream_count;
    if (SLR_DEFECT(frame_ids_restart)) current = false;
    for (uint32_t i = 0; i < pool->stream_count; i++) counts[i] = current ? newest->counts[i] : pool->first_id[i];
}
