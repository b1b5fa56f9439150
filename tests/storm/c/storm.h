/* SPDX-License-Identifier: Apache-2.0
 *
 * Workers in C, as storm/roles.py has them in Python: journals as storm/journal.py lays them out, bodies as storm/bodies.py
 * makes them. */
#ifndef STORM_H
#define STORM_H

#include "life.h"

#define MOST_IN_A_BATCH 12u
#define POLL_S 0.05
#define HEADER_BYTES 24u
#define SHORT_BYTES 8u
#define POISON (UINT64_C(1) << 63)
#define ANONYMOUS UINT64_C(0xffffffff)
#define UNKNOWN UINT64_MAX

/* The journal. */

enum kind { BEGAN = 1, STARTED, SENT, ABORTED, REFUSED, RECEIVED, CORRUPT, COUNTED, HANDLED, COMMITTING, COMMITTED, QUIET, ENDED };
enum { TORN = 1, CHANGED };

struct record {
    uint64_t kind_and_topic, time_ns, a, b, c, d;
};

struct worker {
    struct life life;
    uint64_t counter;
};

struct record record(const struct worker *me, enum kind kind, uint64_t a, uint64_t b, uint64_t c, uint64_t d);
void write_down(struct worker *me, enum kind kind, uint64_t a, uint64_t b, uint64_t c, uint64_t d);
uint64_t next_identity(struct worker *me, uint64_t step);

/* Bodies. A check returns the identity, or 0 if the body, its type or its sender is not as the sender made it. */

struct sizes {
    uint32_t usual, largest, smallest;
};

uint32_t body_size(struct worker *me, const struct sizes *sizes, bool with_header);
const char *type_of(uint64_t identity);
void body_make(uint64_t identity, uint8_t *body, uint32_t size);
uint64_t body_check(const uint8_t *body, uint32_t size, const char *meta, uint8_t type_size, uint8_t sender_size, uint64_t *sent_ns);
/* The same of a body that has no type and no sender. */
uint64_t element_check(const uint8_t *body, uint32_t size, uint64_t *sent_ns);

/* Roles; 2 is returned for wrong options. */

int publish(struct worker *me, char **options, int count);
int read_topic(struct worker *me, char **options, int count);
int write_cells(struct worker *me, char **options, int count);
int read_cells(struct worker *me, char **options, int count);
int write_frames(struct worker *me, char **options, int count);
int read_frames(struct worker *me, char **options, int count);

#endif
