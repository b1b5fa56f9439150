// SPDX-License-Identifier: Apache-2.0
// Sleeping and waking: section 11. One futex word for everybody who waits for the same thing.
#define _GNU_SOURCE
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "shared.h"

// The caller has published and fenced (or, for `space`, does not mind a slice).
void wake(uint8_t *word)
{
    uint32_t seen = get32(word), marked;
    do {
        if (!(seen & (SLEEPING | WAKING)))
            return;
        marked = ((seen + COUNT_ONE) & ~(uint32_t)SLEEPING) | WAKING;
    } while (!__atomic_compare_exchange_n((uint32_t *)word, &seen, marked, false, __ATOMIC_SEQ_CST, __ATOMIC_ACQUIRE));
    step("wake.marked");
    syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    step("wake.woken");
    for (seen = marked; !swap32(word, seen, seen & ~(uint32_t)WAKING);) {
        seen = get32(word);
        if ((seen ^ marked) & ~(uint32_t)SLEEPING)
            return; // somebody began to wake after us and will switch it off
    }
}

uint32_t announce_sleep(uint8_t *word)
{
    uint32_t announced = __atomic_fetch_or((uint32_t *)word, SLEEPING, __ATOMIC_SEQ_CST) | SLEEPING;
    full_fence();
    step("sleep.announced");
    return announced;
}

void sleep_on(uint8_t *word, uint32_t announced, int64_t slice_ns)
{
    struct timespec slice = {slice_ns / 1000000000, slice_ns % 1000000000};
    syscall(SYS_futex, word, FUTEX_WAIT, announced, &slice, NULL, 0); // whatever ends it: the caller looks again
}
