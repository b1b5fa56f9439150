/* SPDX-License-Identifier: Apache-2.0
 *
 * Steps: every store to shared memory and every system call that a process of the crash states makes. Off until a
 * victim turns them on. At a step it is killed, or the state as it stands is kept for later (states.h) and it goes on.
 */
#ifndef STEPS_H
#define STEPS_H

#include <stdint.h>

void step_before(void);
void step_after(void);

extern struct stepping {
    void (*at_step)(void);   /* after each; NULL: steps are not counted */
    uint32_t count;          /* done */
    uint32_t kill_at;        /* 0: never */
    uint32_t race_at;        /* before this step somebody else acts, once; 0: nobody does */
    void (*race)(void);
} stepping;

/* calls.c: the wake-up calls made so far for readers and for publishers, counted wherever they are kept. */
extern uint32_t *step_wakes; /* [0] readers, [1] publishers */
extern int64_t *step_clock_ns; /* CLOCK_REALTIME stands still at this: states do not differ by their times */
extern uint64_t *step_random; /* if set, what is random counts on from there */

#endif
