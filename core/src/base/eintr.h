/* SPDX-License-Identifier: Apache-2.0
 *
 * A system call that a signal interrupted is made again: signals are the program's business, not the bus's.
 */
#ifndef SLR_BASE_EINTR_H
#define SLR_BASE_EINTR_H

#include <errno.h>

#include "base/defects.h"

#define SLR_RETRY_EINTR(result, call) \
    do { \
        (result) = (call); \
    } while ((result) < 0 && errno == EINTR && !SLR_DEFECT(interrupted_call_fails))

#endif
