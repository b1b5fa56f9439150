/* SPDX-License-Identifier: Apache-2.0
 *
 * Cells with at most one end that lives on, ends that are killed at named points of the core, and the judgement afterwards.
 * The element with sequence s is stamped s. Roles that race do so with themselves: at a point of the one end, the other end
 * of the same process acts.
 */
#ifndef CELLS_SURVIVORS_H
#define CELLS_SURVIVORS_H

#include "stamped.h"

#define MAX_POINTS 64
extern const char *const points[]; /* named in the sources */
extern const size_t point_count;

struct ends_log { /* shared with the victims */
    int hits[MAX_POINTS]; /* of the victim's run that is not killed */
    uint64_t committed;   /* puts whose swap was done */
    uint64_t delivered;   /* every sequence below was returned by a take, or passed over */
    uint64_t returned;    /* elements, by takes */
};
extern struct ends_log *record;
extern uint32_t depth;
extern slipring_cells_writer *writer;
extern slipring_cells_reader *reader;
extern bool returning; /* somebody was killed between the accounts and its return */

/* Who lives on: holds elements, or goes on writing. */
enum survivor { NOBODY, READER, WRITER };
struct role {
    const char *name;
    void (*act)(void);
    enum survivor survivor;
    bool exists; /* the cells, before */
};
extern const struct role roles[];
extern const size_t role_count;
void write_some(void);
void read_some(void);
void sweep(void);
void create(void);
void remove_cells(void);

void note(const char *point);
void put_next(void);
void take_all(void);
void take_newest(void);

void survivors_open(void);
void survivors_begin(const struct role *role);
void survivors_judge(const struct role *role);
/* Runs the role to its end: how often it passes each point. */
void survivors_count_hits(const struct role *role, int hits[MAX_POINTS]);
bool killed(void (*what)(void), const char *point, int hits);
bool ends_in_return(size_t point);

#endif
