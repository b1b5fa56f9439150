/* SPDX-License-Identifier: Apache-2.0
 *
 * How long a sleeper sleeps before it looks again by itself: each slice is twice as long as the last, so that what no
 * wake-up can tell is noticed after as long again as one has waited already, and an idle wait costs ever less.
 */
#ifndef SLR_SLICES_H
#define SLR_SLICES_H

#include <stdbool.h>
#include <stdint.h>

#define SLR_SHORTEST_SLICE_NS INT64_C(5000000)
/* Where a death, or a publisher, may wake nobody: a kernel without futex_waitv, a publisher without futexes. */
#define SLR_LONGEST_BOUNDED_SLICE_NS INT64_C(1000000000)
#define SLR_LONGEST_SLICE_NS (INT64_MAX / 4) /* for ever; added to a clock, it does not overflow */

/* slice: of a wait under way, 0 if it begins */
static inline int64_t slr_slice(int64_t slice, bool bounded) {
    if (slice == 0) return SLR_SHORTEST_SLICE_NS;
    return bounded && slice > SLR_LONGEST_BOUNDED_SLICE_NS ? SLR_LONGEST_BOUNDED_SLICE_NS : slice;
}

/* The one after a slice that was slept to its end. */
static inline int64_t slr_slice_after(int64_t slice) {
    return slice < SLR_LONGEST_SLICE_NS / 2 ? slice * 2 : SLR_LONGEST_SLICE_NS;
}

#endif
