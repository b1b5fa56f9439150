/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FAULTS_OPERATIONS_H
#define FAULTS_OPERATIONS_H

#include "harness.h"

struct operation {
    const char *name;
    void (*prepare)(void); /* without faults; what it makes, finish takes away */
    int (*perform)(void);
    void (*undo)(void); /* after success: everything is as before perform */
    void (*finish)(void);
    enum {
        WHOLE,    /* done or not done at all */
        WAITS,    /* a signal may end it with INTERRUPTED */
        IN_PARTS, /* what it did before the fault stays done; the next attempt does the rest */
    } kind;
};
extern const struct operation operations[]; /* a NULL name at the end */

/* Whether an operation is right to succeed although that call failed, for good. */
bool may_do_without(const char *call, int error);

#endif
