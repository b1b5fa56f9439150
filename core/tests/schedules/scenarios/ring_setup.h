/* SPDX-License-Identifier: Apache-2.0
 *
 * A topic, two writers (threads 0 and 1) and a reader (thread 2), over a ring so full that the first message overwrites
 * what the reader is about to read. A body is two words, of which the second follows from the first.
 */
#ifndef SCHEDULES_RING_SETUP_H
#define SCHEDULES_RING_SETUP_H

#include "schedules.h"
#include "shim.h"
#include "slipring.h"

#define RING_SLOTS 16
#define RING_BODY 16
#define RING_MOST_SENDS 4
#define RING_SETUP 2 /* the "writer" of what setup sent */

enum edge { NO_EDGE, PAYLOAD_EDGE, SLOTS_EDGE };

struct ring_how {
    int delivery, one;  /* SLIPRING_RELIABLE; one writer */
    enum edge edge;     /* what the next message is short of */
    int sends;          /* of each writer */
    bool writers_wait, reader_waits, loans;
    bool runs;          /* all sends of a writer in one call, claimed together if there is room */
    bool joins;         /* the reader opens its subscription in the run */
};

struct ring_state {
    struct ring_how how;
    slipring_publisher *pub[2];
    slipring_subscriber *sub;
    slipring_inspector *inspector;
    uint64_t sent_before;         /* messages of the setup */
    uint64_t sent, refused;       /* of the run */
    uint64_t begun_at;            /* the reader's first sequence, and the messages before it */
    uint64_t received, last_seq, last_number[3];
    uint64_t stamp_of[64], got[64]; /* by sequence: first word sent, first word received */
};
extern struct ring_state ring;

void ring_setup(struct ring_how how);
void ring_judge(void);
void ring_open_reader(void);

/* ring_roles.c. A message carries its writer and its number. ring_read_one checks the next; false: none. */
uint64_t ring_second_word(uint64_t first);
int ring_send(slipring_publisher *pub, uint64_t writer, uint64_t number, int64_t deadline);
bool ring_read_one(void);
slipring_counts ring_counts(void);

/* Roles. */
void ring_write_first(void);
void ring_write_second(void);
void ring_read_copies(void);
void ring_read_held(void);
void ring_read_batches(void);
void ring_read_columns(void);
void ring_remove(void); /* what its users see of it; ends with reading until it is noticed */
void ring_read_until_removed(void);

#endif
