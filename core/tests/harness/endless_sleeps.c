/* SPDX-License-Identifier: Apache-2.0
 *
 * The core sleeps in slices, which would hide a lost wake-up. In programs linked with this file and
 * -Wl,--wrap=syscall, once endless_sleeps is set, a futex sleep has no time limit: a wake-up that does not come is a
 * test that does not end.
 */
#include "endless_sleeps.h"

#include <linux/futex.h>
#include <sys/syscall.h>

#include "syscall_words.h"

bool endless_sleeps;

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);
long __wrap_syscall(long number, ...) {
    va_list list;
    uintptr_t a[SYSCALL_WORDS];
    va_start(list, number);
    syscall_words(list, a);
    va_end(list);
    bool sleeps = number == SYS_futex_waitv || (number == SYS_futex && ((int)a[1] & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET);
    if (endless_sleeps && sleeps) a[3] = 0; /* the time limit of both */
    return __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
