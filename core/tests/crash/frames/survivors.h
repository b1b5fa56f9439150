/* SPDX-License-Identifier: Apache-2.0
 *
 * A frames topic with a survivor that reads on and holds a frame all the while, victims that are killed at named points of
 * the core, and the judgement afterwards: the next writer comes; what was announced, and only that, is counted and whole,
 * the held frame is as it was, and every buffer is there again.
 */
#ifndef FRAMES_SURVIVORS_H
#define FRAMES_SURVIVORS_H

#include "frame_topic.h"

#define BUFFERS 4
#define MAX_POINTS 128

struct frames_log { /* shared with the victims */
    char names[MAX_POINTS][40];
    int hits[MAX_POINTS], count;
    _Atomic uint64_t announced, others; /* frames of stream "main", and of other streams, by anybody */
};
extern struct frames_log *record;

struct role {
    const char *name;
    void (*act)(void);
    bool topic, live_writer; /* before it comes; while it is there */
};
extern const struct role roles[];
extern const size_t role_count;
/* What comes after a death; of those only .name and .act. */
extern const struct role next_reader, next_remover, next_repairer;
extern const struct role next_writers[];
extern const size_t next_writer_count;

slipring_stream main_stream(void);
/* Runs a role in a child of its own; armed: dies at that point's hits-th time. True if it was killed. */
bool victim_run(const struct role *role, const char *point, int hits);
void survivors_begin(const struct role *role);
void survivors_judge(const struct role *role);

#endif
