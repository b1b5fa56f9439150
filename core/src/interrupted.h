/* SPDX-License-Identifier: Apache-2.0
 *
 * A system call that a signal interrupted is made again: signals are the program's business, not the bus's.
 */
#ifndef SLR_INTERRUPTED_H
#define SLR_INTERRUPTED_H

#include <errno.h>

#include "defects.h"

#define SLR_AGAIN(result, call) \
    do { \
        (result) = (call); \
    } while ((result) < 0 && errno == EINTR && !SLR_DEFECT(interrupted_call_fails))

#endif
