/* SPDX-License-Identifier: Apache-2.0
 *
 * Sleeping and waking on one futex word; futex.h describes the word.
 *
 * A waker clears SLEEPING, sets WAKING and counts, in one swap. Then it wakes all sleepers and clears WAKING. If it dies in between,
 * WAKING stays, and the next waker repeats the call. The kernel compares the word before a process falls asleep, so with the new
 * count it returns at once.
 */
#include "wait/futex.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/crash_points.h"
#include "base/defects.h"
#include "slipring.h"

#define ATTEMPTS 1000 /* a swap fails only if another one succeeds; so many failures mean tampering */

uint32_t slr_sleep_announce(_Atomic uint32_t *word) {
    return slr_fetch_or32(word, SLR_WAKE_SLEEPING) | SLR_WAKE_SLEEPING;
}

int slr_sleep(_Atomic uint32_t *word, uint32_t value, int64_t deadline_ns) {
    struct timespec until = {.tv_sec = deadline_ns / 1000000000, .tv_nsec = deadline_ns % 1000000000};
    struct timespec *limit = deadline_ns == SLIPRING_FOREVER ? NULL : &until;
    SLR_CRASH_POINT("sleep");
    if (syscall(SYS_futex, word, FUTEX_WAIT_BITSET, value, limit, NULL, FUTEX_BITSET_MATCH_ANY) == 0) return 0;
    return errno == EAGAIN ? 0 : errno;
}

void slr_wake_all(_Atomic uint32_t *word) {
    uint32_t value, waking;
    int attempt = 0;
    do {
        value = slr_load_relaxed(word);
        waking = ((value + SLR_WAKE_COUNT) & ~SLR_WAKE_SLEEPING) | (SLR_DEFECT(waking_not_marked) ? 0u : SLR_WAKE_WAKING);
    } while (!slr_cas32(word, value, waking) && ++attempt < ATTEMPTS);
    SLR_CRASH_POINT("wake.before_call");
    if (!SLR_DEFECT(nobody_woken)) syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    SLR_CRASH_POINT("wake.after_call");
    /* Clear the mark, unless another waker has set it again since. */
    for (attempt = 0; attempt < ATTEMPTS; attempt++) {
        value = slr_load_relaxed(word);
        if ((value | SLR_WAKE_SLEEPING) != (waking | SLR_WAKE_SLEEPING)) break;
        if (slr_cas32(word, value, value & ~SLR_WAKE_WAKING)) break;
    }
}

int64_t slipring_deadline(double timeout_s) {
    if (!(timeout_s >= 0) || timeout_s > 9e8) return SLIPRING_FOREVER;
    return timeout_s == 0 ? SLIPRING_NOW : slr_clock_monotonic_ns() + (int64_t)(timeout_s * 1e9);
}
