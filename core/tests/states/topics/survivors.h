/* SPDX-License-Identifier: Apache-2.0
 *
 * Topics of the crash states: what is in a setup before the victim comes, and who lives on.
 */
#ifndef TOPIC_SURVIVORS_H
#define TOPIC_SURVIVORS_H

#include "states.h"

#define SLOTS 16
#define CAPACITY 4096

enum before {
    EMPTY,
    SLOT_WRAP,    /* the next message is in the last slot */
    PAYLOAD_WRAP, /* the next message lies across the end of the payload */
    ROUND,        /* the ring is full of what may be reclaimed; a lossy reader is laps behind */
    FULL,         /* nothing can be sent: a reliable reader has not read, or (lossy) a message is held */
    HELD,         /* as ROUND, with a message held in the middle, and a live writer's loan open behind it */
    DEAD,         /* as HELD, and dead: a reader, a holder, a lender, and a writer after `detail` steps of its send */
    CROWDED,      /* as ROUND, and the tables have room for one more of each kind */
    LONG,         /* as SLOT_WRAP, with more slots: a run of messages goes round the end */
    HEAVY,        /* as ROUND, but it is the payload that is full, not the slots */
    CURSOR,       /* as ROUND, and a cursor "c" has left messages uncommitted; it expires */
};

/* What one reader has been shown. */
struct sight {
    uint8_t seen[SOURCES][NUMBERS];
    uint64_t last_seq, received;
};

extern struct survivors {
    slipring_publisher *pub, *lender;               /* many writers only */
    slipring_subscriber *copier, *safe, *holder, *sleeper; /* lossy; reliable, if the topic is; … */
    slipring_inspector *inspector;
    struct sight by_copy, by_safe;
    slipring_claim loan;
    uint32_t loan_number;
    slipring_message held;
    uint8_t held_bytes[256];
    uint32_t first_seen[1024]; /* of each sequence */
    int slots, live_writers, live_readers;
} live;

void topic_begin(const struct setup *setup);
void topic_end(const struct setup *setup);
void topic_save(void);
void topic_restore(void);
void topic_judge(const struct setup *setup, enum mode mode, bool brief);

/* Stamped messages of this process's source; numbers are chosen so that sizes repeat. */
size_t body_size(uint32_t number);
uint32_t next_message(void);
uint32_t message_sized(size_t size);           /* 8, 24, … 248 */
uint64_t verdict_bit(uint32_t number);
void stamp_body(void *body, uint32_t number);  /* every word of it a step */
int send_message(slipring_publisher *pub, uint32_t number);
void read_everything(slipring_subscriber *sub, struct sight *sight);
void read_now(void); /* the copier and, if the topic is reliable, the safe reader read all that is there */

#endif
