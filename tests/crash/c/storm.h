/* SPDX-License-Identifier: Apache-2.0
 *
 * The C participants of a storm, as crash/actors.py has them in Python: journals as crash/journal.py lays them out, bodies
 * as crash/bodies.py makes them. */
#ifndef STORM_H
#define STORM_H

#include "actor.h"

#define LARGEST 16384u
#define MOST_IN_A_BATCH 12u
#define POLL_S 0.05
#define POISON (UINT64_C(1) << 63)
#define TORN UINT64_MAX
#define CHANGED (UINT64_MAX - 1)
#define UNKNOWN UINT64_MAX

enum kind { START = 1, SENT, MAYBE, ABORT, GOT, INTENT, COMMIT, QUIET, END };

struct record {
    uint64_t kind, a, b, c, d;
};

struct storm {
    struct actor actor;
    uint64_t counter, largest;
};

void write_down(struct storm *me, enum kind kind, uint64_t a, uint64_t b, uint64_t c, uint64_t d);
uint32_t body_size(struct storm *me);
void body_make(uint64_t incarnation, uint64_t counter, uint8_t *body, uint32_t size);
/* Its maker, or TORN if it, its type or its sender is not as it was made; meta is type and sender. */
uint64_t body_check(const uint8_t *body, uint32_t size, const char *meta, uint8_t type_size, uint8_t sender_size,
                    uint64_t *counter);
/* The same of a body that has no type and no sender. */
uint64_t element_check(const uint8_t *body, uint32_t size, uint64_t *counter);
const char *type_of(uint64_t counter);

int publish(struct storm *me, char **options, int count);
int read_topic(struct storm *me, char **options, int count);
int write_cells(struct storm *me, char **options, int count);
int read_cells(struct storm *me, char **options, int count);
int write_frames(struct storm *me, char **options, int count);
int read_frames(struct storm *me, char **options, int count);

#endif
