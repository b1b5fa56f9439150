/* SPDX-License-Identifier: Apache-2.0
 *
 * A fault injector. The system calls of the core are linked through wrappers (meson.build: faults_link). The
 * armed call is not made. It fails with one of the errors in its manual page.
 *
 *     for each operation, each n, each error of that call: prepare, arm n, perform, check what is left
 */
#ifndef FAULTS_H
#define FAULTS_H

#include <stdbool.h>

struct fault {
    const char *call; /* of the call that failed; NULL: there was no n-th call */
    int error;
    bool more; /* that call may give more errors than this one */
};

/* The n-th call from now on fails, with the k-th of the errors it may give. Of this thread. */
void fault_arm(unsigned n, unsigned k);
struct fault fault_disarm(void);

#endif
