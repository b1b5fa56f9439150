/* SPDX-License-Identifier: Apache-2.0
 *
 * The clocks of the system, in nanoseconds: real time for what is stored in shared memory, monotonic time for waits and deadlines.
 * Sending reads tsc_clock.h instead, which is faster.
 */
#ifndef SLR_BASE_CLOCK_H
#define SLR_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t slr_clock_ns(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline int64_t slr_clock_realtime_ns(void) { return slr_clock_ns(CLOCK_REALTIME); }
static inline int64_t slr_clock_monotonic_ns(void) { return slr_clock_ns(CLOCK_MONOTONIC); }

#endif
