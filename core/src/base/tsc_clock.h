/* SPDX-License-Identifier: Apache-2.0
 *
 * Wall-clock time for every message at the cost of reading the counter of the processor: a third of clock_gettime.
 */
#ifndef SLR_BASE_TSC_CLOCK_H
#define SLR_BASE_TSC_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hot_path.h"

struct slr_tsc_clock { /* all zero: not started */
    uint64_t ticks;       /* the counter at the last reading of the real clock */
    int64_t ns;           /* the real clock at that reading */
    uint64_t ns_per_tick; /* with 32 fractional bits; 0: unknown, read the real clock */
    uint64_t good_for;    /* ticks */
};

SLR_NOINLINE int64_t slr_tsc_clock_calibrate(struct slr_tsc_clock *t); /* reads the real clock */

static inline int64_t slr_tsc_clock_now_ns(struct slr_tsc_clock *t) {
#if defined(__x86_64__)
    uint64_t passed = __builtin_ia32_rdtsc() - t->ticks;
    if (passed < t->good_for) return t->ns + (int64_t)(passed * t->ns_per_tick >> 32);
#endif
    return slr_tsc_clock_calibrate(t);
}

#endif
