/* SPDX-License-Identifier: Apache-2.0
 *
 * A topic with live users (this process, and a sleeping child of it), a victim that is killed at a named point of the
 * core, and the judgement afterwards: everybody else goes on, nothing committed is lost, nothing uncommitted is seen,
 * the accounts are exact and the tables are clean.
 *
 * Messages carry {source, number}, padded by words derived from both. The victim's own record of what it committed is
 * kept in shared memory by a watcher of the point behind the commit, so it is exact even if it dies there.
 */
#ifndef TOPIC_SURVIVORS_H
#define TOPIC_SURVIVORS_H

#include "harness.h"

#define SLOTS 16
#define NUMBERS 256
#define SOURCES 4 /* 0: survivors; 1: victim; 2: the victim that tried to recover from it */
#define MAX_POINTS 96

struct point {
    char name[40];
    int hits;
};

struct log { /* shared with the victims */
    struct point points[MAX_POINTS];
    int point_count;
    uint32_t next[SOURCES], current[SOURCES]; /* number to be claimed; number being committed */
    _Atomic uint8_t committed[SOURCES][NUMBERS];
    int done; /* the role came to its end */
};

struct role {
    const char *name;
    int delivery, writers;
    int before; /* what the topic has seen: see BEFORE_… */
    void (*act)(void);
};
enum {
    BEFORE_NOTHING, /* no topic */
    BEFORE_EMPTY,
    BEFORE_LAPS,  /* the ring has wrapped: a send must reclaim; a reader sleeps */
    BEFORE_FULL,  /* reliable: nothing can be sent until the survivor reads; a publisher sleeps */
    BEFORE_CURSOR, /* laps, and a cursor "v" left behind with messages unread */
};
extern const struct role roles[];
extern const size_t role_count;
extern const struct role recoverers[]; /* what the next one does; only .name and .act */
extern const size_t recoverer_count;
extern const struct role creator, remover, cursor_taker; /* and where the topic is missing; of many writers; has "v" */
/* Of many writers: it attaches, sees the first one die (its child, to be named before), and goes on without a sweep. */
extern const struct role standby;
extern const struct role *doomed;
extern const char *doomed_at;

extern struct log *record;
extern uint32_t source; /* of this process */

/* Survivors. */
void survivors_begin(const struct role *role);
void survivors_judge(const struct role *role);
/* Runs a role in a child of its own as `source`; armed: dies at that point's hits-th time. True if it was killed. */
bool victim_run(const struct role *role, uint32_t as, const char *point, int hits);
/* In a child of a victim: another source, whose points are not listed. */
void become(uint32_t as, const char *point);
void forget_points(void); /* those that victims have passed so far */

/* Waits until the sleeping child is asleep, for roles that remove the topic. The death wake of a killed
 * remover reaches only processes that are asleep. Others notice the removal when their slice ends, and
 * slices of the child never end. */
void await_sleeper(void);

/* Stamped messages. */
size_t stamp_size(uint32_t number);
void stamp(void *body, uint32_t from, uint32_t number);
void stamp_read(const void *body, size_t size, uint32_t *from, uint32_t *number);

/* For the roles: number of the next message to be claimed by this process. */
uint32_t next_number(void);

#endif
