/* SPDX-License-Identifier: Apache-2.0
 *
 * A subscriber, for the files that work on it: subscriber.c (open, close, start), read.c, columns.c, hold.c (views), filter.c,
 * cursor.c, wait.c, range.c and the frame reader.
 */
#ifndef SLR_PORTS_SUBSCRIBER_H
#define SLR_PORTS_SUBSCRIBER_H

#include "base/hot_path.h"
#include "ring/ring.h"

#define SLR_MAX_VIEWS 256
#define SLR_COUNT_AT_ONCE 256 /* slots: limits the work of a conflating read */

struct slr_filter;

struct slipring_subscriber {
    struct slr_segment *s;
    struct slr_reader *self; /* NULL: no entry in the table */
    int entry, cursor;       /* -1: none */
    bool conflate;
    bool holds_position; /* a hold protects everything from position on: no copy can be overwritten */

    uint64_t position;  /* next sequence to read */
    uint64_t abandoned; /* sequences below position (conflating: below counted_to) that never became messages */
    uint64_t received, lost, filtered;

    bool peeked; /* a message was peeked and not yet accepted */
    uint64_t peeked_size;

    /* A conflating reader counts behind its position (read.c): the messages below counted_to, received or filtered. */
    uint64_t counted_to, counted_messages;

    uint64_t held[SLR_MAX_VIEWS]; /* sequences of open views */
    int held_count;

    bool keeps; /* messages from `kept` on stay held although they were read (reliable, without a cursor) */
    uint64_t kept;

    uint64_t progress_messages, progress_bytes; /* since publishers were last woken */
    /* Of the current wait (wait.c). 0: it has not begun; negative: the time spun so far, before the first sleep; positive: the
     * longest sleep of the next call. One field, so that a received message resets it by one store. */
    int64_t slice_ns;
    /* The last wait: position and time of its begin, and the time it stayed away from the slot (backoff_ns in wait.c). */
    uint64_t waited_at;
    int64_t waited_ns, backoff_ns;
    struct slr_filter *filter;
    _Atomic uint64_t interrupted;
};

/* subscriber.c */
int slr_start_at(slipring_subscriber *sub, int start, uint64_t start_seq);

/* read.c */
int slr_read_check(slipring_subscriber *sub);
bool slr_read_may_have_message(slipring_subscriber *sub, bool *behind_claim);
int slr_read_accept(slipring_subscriber *sub); /* call slr_read_show_progress afterwards to publish the position */
void slr_read_show_progress(slipring_subscriber *sub);
/* Count the messages that a conflating reader has skipped; look at `limit` slots at most. */
SLR_NOINLINE void slr_read_count_skipped(slipring_subscriber *sub, uint64_t limit);

/* hold.c */
void slr_hold_publish(slipring_subscriber *sub);

/* filter.c */
int slr_filter_copy(const slipring_filter *from, struct slr_filter **out);
void slr_filter_free(struct slr_filter *filter);
/* OK: the message passes; EMPTY: it is filtered; LAPPED: it was overwritten. */
int slr_filter_message(slipring_subscriber *sub, uint64_t word, const slipring_message *m);

/* cursor.c: attach to the named cursor, existing or new; *position is that of an existing one. */
int slr_cursor_attach(slipring_subscriber *sub, const char *name, bool *is_new, uint64_t *position);
void slr_cursor_begin(slipring_subscriber *sub, const char *name, int64_t expires_ns, uint64_t position);
void slr_cursor_touch(slipring_subscriber *sub);

#endif
