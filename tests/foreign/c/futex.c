// SPDX-License-Identifier: Apache-2.0
// Sleeping and waking: section 11. One futex word for everybody who waits for the same thing.
#define _GNU_SOURCE
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "shared.h"

static void wake_all(uint8_t *word)
{
    uint32_t seen = get32(word), marked;
    do {
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

// The caller has published and fenced (or, for `space`, does not mind a slice).
void wake(uint8_t *word)
{
    if (get32(word) & (SLEEPING | WAKING))
        wake_all(word);
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
    syscall(SYS_futex, word, FUTEX_WAIT, announced, &slice, NULL, 0); // the caller always checks again
}

// 11.1. The C library has registered a list for this, the only thread.
static struct robust_list_head *robust_list(void)
{
    static struct robust_list_head *head;
    size_t size;
    if (!head && (syscall(SYS_get_robust_list, 0, &head, &size) != 0 || !head))
        fail(EXIT_USAGE, "the kernel knows no robust list");
    return head;
}

void death_wake_set(const struct topic *t)
{
    struct robust_list_head *head = robust_list();
    *(struct robust_list *volatile *)&head->list_op_pending =
        (struct robust_list *)(uintptr_t)(t->readers + DH_ORPHAN - head->futex_offset);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

void death_wake_clear(void)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    *(struct robust_list *volatile *)&robust_list()->list_op_pending = NULL;
}

static struct futex_waitv waited(const uint8_t *word, uint32_t value)
{
    return (struct futex_waitv){.val = value, .uaddr = (uintptr_t)word, .flags = FUTEX_32};
}

void sleep_for_message(const struct topic *t, uint32_t announced, const uint8_t *slot, uint32_t slot_seen, int64_t slice_ns)
{
    struct futex_waitv words[] = {waited(t->readers + DH_WAKE, announced), waited(t->readers + DH_ORPHAN, 0), waited(slot, slot_seen)};
    int64_t until = monotonic_ns() + slice_ns;
    struct timespec limit = {until / 1000000000, until % 1000000000};
    death_wake_set(t);
    if (syscall(SYS_futex_waitv, words, 3, 0, &limit, CLOCK_MONOTONIC) == 1)
        wake_all(t->readers + DH_WAKE);
    death_wake_clear();
}
