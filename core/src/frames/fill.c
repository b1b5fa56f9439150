/* SPDX-License-Identifier: Apache-2.0
 *
 * Filling buffers: the writer takes one, the program fills it, the writer sends the frame. A topic with one writer carries the
 * announcements; the frames are in a pool of buffers beside it.
 *
 * Each buffer has a word {state, number}, which only the writer changes. Each reader has in its own table entry a mask of the
 * buffers that it holds and the generation of their pool. The handshake is that of hazard pointers:
 *
 *   writer: word = {WRITING, n}; full fence; load the masks of all readers; if a reader holds it, restore the word
 *   reader: set its bit; full fence; load the word; if it is not {SENT, announced number}, clear the bit and count a loss
 *
 * One of the two sees the other. If the writer sees no bit, every later reader sees WRITING, or the number of a later frame. So
 * a frame that a reader holds does not change until the reader clears its bit. The writer never waits: it tries the next buffer,
 * and returns FULL when readers hold all buffers of the stream. Only then it checks whether the holders are alive: a bit counts
 * as long as its owner's lock does.
 *
 * The word of a finished frame becomes {SENT, m}, with m higher than any number before. Then its announcement is sent; at that
 * moment the frame exists. A writer may die anywhere. A buffer that it left WRITING is FREE for the next writer, with the
 * same number: no reader knows the next number, and a reader that knows the old one finds the frame gone. Numbers are never
 * reused.
 *
 * The model core/models/frames.pml is checked by Spin.
 *
 * Choice of a buffer: the one sent last among those that every reader has finished with, because it may still be in the cache of
 * the processor; otherwise the one sent longest ago. The newest frame of a stream is taken only if there is no other buffer. A
 * reader has finished with frames before its position without a bit of its own: it advances its position after it has set the
 * bit or given up. So two buffers alternate, however many there are, while readers keep up and hold nothing.
 */
#include <string.h>

#include "base/clock.h"
#include "base/crash_points.h"
#include "base/defects.h"
#include "base/error.h"
#include "frames/writer.h"
#include "ports/publisher.h"
#include "ring/ring.h"

/* Holders ---------------------------------------------------------------------------------------------------- */

struct readers {
    uint64_t held;   /* by any reader */
    uint64_t passed; /* every reader is at this sequence or beyond; 0 without readers */
};

static struct readers scan_readers(const slipring_frame_writer *w, bool check_alive) {
    const struct slr_segment *s = w->s;
    struct readers found = {0, UINT64_MAX};
    uint32_t count = slr_load_relaxed(&s->readers->high_reader);
    if (count > s->reader_count) count = s->reader_count;
    for (uint32_t e = 0; e < count; e++) {
        struct slr_reader *r = &s->reader[e];
        uint64_t state = slr_load_acquire(&r->state);
        if (slr_kind_is(state, SLR_KIND_FREE)) continue;
        /* Load the position before the mask, partner of the fence in hold (take.c): with a position the bits set before it
         * are visible. Load the pool before the mask: a reader empties its mask before it changes the pool. Acquire,
         * partner of the reader's release: it has finished with a frame before the frame is overwritten. */
        uint64_t position = slr_load_acquire(&r->position), pool = slr_load_acquire(&r->pool), held = slr_load_acquire(&r->held);
        bool holds = pool == w->pool->generation && held;
        if (check_alive && holds && !SLR_DEFECT(dead_reader_bits_kept) && slr_sweep_reader(s, e, state)) continue;
        if (holds && !SLR_DEFECT(held_frames_overwritten)) found.held |= held;
        if (position < found.passed) found.passed = position;
    }
    if (found.passed == UINT64_MAX) found.passed = 0;
    return found;
}

/* Taking ----------------------------------------------------------------------------------------------------- */

/* Return the number of the frame in the buffer; 0: none. */
static uint64_t number_in(const slipring_frame_writer *w, uint32_t buffer) {
    uint64_t word = slr_load_relaxed(&w->pool->buffer[buffer].word);
    return slr_buffer_state_of(word) == SLR_BUFFER_SENT ? slr_buffer_number(word) : 0;
}

static int choose(const slipring_frame_writer *w, uint32_t stream, uint64_t excluded, uint64_t passed) {
    int hot = -1, cold = -1, newest = -1;
    uint64_t hot_number = 0, cold_number = UINT64_MAX, newest_number = 0;
    uint32_t first = w->pool->first_buffer[stream], end = first + w->pool->stream[stream].buffers;
    for (uint32_t b = first; b < end; b++)
        if (number_in(w, b) > newest_number) newest_number = number_in(w, b), newest = (int)b;
    for (uint32_t b = first; b < end; b++) {
        uint64_t number = number_in(w, b);
        if (excluded >> b & 1 || (int)b == newest) continue;
        if (w->seq[b] && w->seq[b] <= passed && number > hot_number) hot_number = number, hot = (int)b;
        if (number < cold_number) cold_number = number, cold = (int)b;
    }
    if (hot >= 0) return hot;
    if (cold >= 0) return cold;
    return newest >= 0 && !(excluded >> newest & 1) ? newest : -1;
}

static bool claim(slipring_frame_writer *w, int buffer) {
    _Atomic uint64_t *word = &w->pool->buffer[buffer].word;
    uint64_t before = slr_load_relaxed(word);
    uint64_t writing = slr_buffer_word(SLR_BUFFER_WRITING, slr_buffer_number(before));
    slr_store_relaxed(word, SLR_DEFECT(buffer_not_marked_writing) ? before : writing);
    SLR_CRASH_POINT("frame.marked");
    slr_fence_seq_cst(); /* partner: the fence in hold (take.c) */
    if (!(scan_readers(w, false).held >> buffer & 1)) return true;
    slr_store_release(word, before);
    SLR_CRASH_POINT("frame.left_alone");
    return false;
}

static int take_any(slipring_frame_writer *w, uint32_t stream) {
    for (int check_alive = 0; check_alive <= 1; check_alive++) {
        uint64_t tried = w->open;
        for (;;) {
            struct readers readers = scan_readers(w, check_alive);
            int buffer = choose(w, stream, tried | readers.held, readers.passed);
            if (buffer < 0) break;
            if (claim(w, buffer)) return buffer;
            tried |= UINT64_C(1) << buffer;
        }
    }
    return -1;
}

static int check_usable(const slipring_frame_writer *w) {
    return w->pub ? slr_publisher_usable(w->pub) : slr_error(SLIPRING_CLOSED, "", "the frame writer was stopped");
}

static int check_stream(const slipring_frame_writer *w, uint32_t stream) {
    if (stream < w->pool->stream_count) return SLIPRING_OK;
    return slr_error(SLIPRING_BAD_ARGUMENT, "stream", "stream=%u is out of range: the topic has %u streams", stream, w->pool->stream_count);
}

int slipring_frame_writer_take(slipring_frame_writer *w, uint32_t stream, slipring_frame_buffer *out) {
    int code = check_usable(w);
    if (!code) code = check_stream(w, stream);
    if (code) return code;
    int buffer = take_any(w, stream);
    if (buffer < 0)
        return slr_error(SLIPRING_FULL, "buffers", "all %u buffers of stream '%s' are held by subscribers or are being written: "
                         "release frames earlier, or open it with more buffers=",
                         w->pool->stream[stream].buffers, w->pool->stream[stream].name);
    SLR_CRASH_POINT("frame.taken");
    w->open |= UINT64_C(1) << buffer;
    w->seq[buffer] = 0;
    w->taken_ns[buffer] = slr_clock_realtime_ns();
    *out = (slipring_frame_buffer){.buffer = (uint32_t)buffer,
                                   .data = w->pool->base + w->pool->offset[buffer],
                                   .size = w->pool->frame_bytes[stream]};
    return SLIPRING_OK;
}

/* Sending ---------------------------------------------------------------------------------------------------- */

static int check_open(const slipring_frame_writer *w, uint32_t buffer) {
    if (buffer < w->pool->buffer_count && w->open >> buffer & 1) return SLIPRING_OK;
    return slr_error(SLIPRING_BAD_ARGUMENT, "buffer", "buffer=%u was not taken, or was sent or aborted already", buffer);
}

static uint32_t stream_of(const struct slr_pool *pool, uint32_t buffer) {
    uint32_t stream = pool->stream_count - 1;
    while (pool->first_buffer[stream] > buffer) stream--;
    return stream;
}

static size_t compose(slipring_frame_writer *w, const struct slr_frame *frame, const void *meta) {
    uint64_t counts[SLR_POOL_STREAMS];
    size_t table = w->pool->stream_count * sizeof counts[0];
    memcpy(counts, w->counts, table);
    counts[frame->stream]++;
    memcpy(w->body, frame, SLR_FRAME_SIZE);
    memcpy(w->body + SLR_FRAME_SIZE, counts, table);
    if (frame->meta_size) memcpy(w->body + SLR_FRAME_SIZE + table, meta, frame->meta_size);
    return SLR_FRAME_SIZE + table + frame->meta_size;
}

static void give_back(slipring_frame_writer *w, uint32_t buffer, uint64_t number) {
    enum slr_buffer_state state = SLR_DEFECT(aborted_frame_stays_sent) ? SLR_BUFFER_SENT : SLR_BUFFER_FREE;
    slr_store_relaxed(&w->pool->buffer[buffer].word, slr_buffer_word(state, number));
    w->open &= ~(UINT64_C(1) << buffer);
}

int slipring_frame_writer_send(slipring_frame_writer *w, uint32_t buffer, const slipring_frame_message *message, uint64_t *id,
                               uint64_t *seq) {
    int code = check_open(w, buffer);
    if (!code) code = check_usable(w);
    if (code) return code;
    if (message->meta_size > SLIPRING_MAX_FRAME_META)
        return slr_error(SLIPRING_TOO_LARGE, "meta", "meta has %u bytes; at most %d are allowed", message->meta_size,
                         SLIPRING_MAX_FRAME_META);
    uint32_t stream = stream_of(w->pool, buffer);
    const char *name = w->pool->stream[stream].name;
    uint64_t number = w->number + 1;
    struct slr_frame frame = {.pool = w->pool->generation,
                              .number = number,
                              .id = w->counts[stream],
                              .start_ns = message->start_ns ? message->start_ns : w->taken_ns[buffer],
                              .end_ns = message->end_ns ? message->end_ns : slr_clock_realtime_ns(),
                              .buffer = buffer,
                              .stream = stream,
                              .meta_size = message->meta_size,
                              .meta_kind = message->meta_kind,
                              .run = w->run};
    size_t size = compose(w, &frame, message->meta);
    /* Before the announcement, whose release and acquire make this word and the frame visible to readers. */
    const uint64_t sent = slr_buffer_word(SLR_BUFFER_SENT, number);
    if (!SLR_DEFECT(frame_announced_before_finished)) slr_store_release(&w->pool->buffer[buffer].word, sent);
    w->number = number;
    SLR_CRASH_POINT("frame.finished");
    code = slipring_publisher_send(w->pub, w->body, size, name, strlen(name), SLIPRING_NOW, seq);
    if (SLR_DEFECT(frame_announced_before_finished)) slr_store_release(&w->pool->buffer[buffer].word, sent);
    SLR_CRASH_POINT("frame.announced");
    if (code) {
        give_back(w, buffer, number);
        return code;
    }
    w->counts[stream]++;
    w->seq[buffer] = *seq + 1;
    w->open &= ~(UINT64_C(1) << buffer);
    *id = frame.id;
    return SLIPRING_OK;
}

int slipring_frame_writer_abort(slipring_frame_writer *w, uint32_t buffer) {
    int code = check_open(w, buffer);
    if (!code) code = check_usable(w);
    if (code && code != SLIPRING_CLOSED && code != SLIPRING_TOPIC_GONE) return code;
    give_back(w, buffer, slr_buffer_number(slr_load_relaxed(&w->pool->buffer[buffer].word)));
    SLR_CRASH_POINT("frame.aborted");
    return SLIPRING_OK;
}
