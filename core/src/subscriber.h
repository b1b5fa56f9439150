/* SPDX-License-Identifier: Apache-2.0
 *
 * A subscriber as its own files see it: subscriber.c (life), read.c (reading), hold.c (views), filter.c, cursor.c,
 * waiting.c.
 */
#ifndef SLR_SUBSCRIBER_H
#define SLR_SUBSCRIBER_H

#include "apart.h"
#include "ring.h"

#define SLR_MAX_VIEWS 256
#define SLR_SETTLE_AT_ONCE 256 /* slots: keeps a conflating read short */

struct slr_filter;

struct slipring_subscriber {
    struct slr_segment *s;
    struct slr_reader *self; /* NULL: no entry in the table */
    int entry, cursor;       /* -1: none */
    bool conflate;
    bool safe; /* a hold keeps everything from position on: no copy can be overwritten */

    uint64_t position;  /* next sequence to look at */
    uint64_t abandoned; /* sequences below position (conflating: below settled) that never became messages */
    uint64_t received, lost, filtered;

    bool peeked; /* a message was shown and not yet accepted */
    uint64_t peeked_size;

    /* Conflating readers settle their accounts behind their position (read.c). */
    uint64_t settled, settled_messages;

    uint64_t held[SLR_MAX_VIEWS]; /* sequences of open views */
    int held_count;

    bool keeps; /* what was read from `kept` on is held as if it had not been (reliable, without a cursor) */
    uint64_t kept;

    uint64_t progress_messages, progress_bytes; /* since publishers were last considered */
    int64_t slice_ns; /* of a wait under way; 0: none is */
    /* Of the last wait: where and when it began, and how long it kept away from the slot (waiting.c). */
    uint64_t waited_at;
    int64_t waited_ns, away_ns;
    struct slr_filter *filter;
    _Atomic uint64_t interrupted;
};

/* start.c */
int slr_start_at(slipring_subscriber *sub, int start, uint64_t start_seq);

/* read.c */
bool slr_read_maybe_ready(slipring_subscriber *sub, bool *behind_claim);
int slr_read_check(slipring_subscriber *sub);
/* Position moved by one past a message of peeked_size. */
void slr_read_advance(slipring_subscriber *sub);
void slr_read_show_progress(slipring_subscriber *sub);
int slr_read_resync(slipring_subscriber *sub);
int slr_read_peek(slipring_subscriber *sub, slipring_message *out); /* after slr_read_check */
int slr_read_accept(slipring_subscriber *sub); /* and to be followed by slr_read_show_progress, when others may know */
/* The peeked message was overwritten. LAPPED: go on from where the position is now, which is further than before. */
SLR_APART int slr_give_up_peeked(slipring_subscriber *sub);

/* conflate.c */
SLR_APART int slr_peek_newest(slipring_subscriber *sub, slipring_message *out);
void slr_conflate_to(slipring_subscriber *sub, uint64_t position);
SLR_APART void slr_read_settle(slipring_subscriber *sub, uint64_t limit);

/* hold.c */
uint64_t slr_hold_lowest(const slipring_subscriber *sub);
void slr_hold_publish(slipring_subscriber *sub);

/* filter.c */
int slr_filter_copy(const slipring_filter *from, struct slr_filter **out);
void slr_filter_free(struct slr_filter *filter);
/* OK: it passes; EMPTY: it does not; LAPPED. */
int slr_filter_message(slipring_subscriber *sub, uint64_t word, const slipring_message *m);

/* cursor.c: attaches to the named cursor, new or not; its place in *position. */
int slr_cursor_attach(slipring_subscriber *sub, const char *name, bool *is_new, uint64_t *position);
void slr_cursor_begin(slipring_subscriber *sub, const char *name, int64_t expires_ns, uint64_t position);
void slr_cursor_touch(slipring_subscriber *sub);

#endif
