/* SPDX-License-Identifier: Apache-2.0
 *
 * A system call that a signal has interrupted is repeated: signals are for the program, not for the bus.
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
