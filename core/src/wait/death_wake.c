/* SPDX-License-Identifier: Apache-2.0
 *
 * The list of robust mutexes of each thread, in which death_wake.h sets the death wake. It is found once for each thread.
 */
#include "wait/death_wake.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

_Thread_local struct robust_list_head *slr_death_wake_list SLR_DEATH_WAKE_TLS;
/* For a thread without a registered list (musl, until the thread locks a robust mutex). If the kernel refuses to return the
 * list, there may be one that must not be replaced. In that case, or if registering fails, the death wake has no effect:
 * sleepers notice the message when their slice ends. */
static _Thread_local struct robust_list_head own;

struct robust_list_head *slr_death_wake_find(void) {
    struct robust_list_head *head = NULL;
    size_t size = 0;
    bool asked = syscall(SYS_get_robust_list, 0, &head, &size) == 0;
    if (!asked || !head || size != sizeof *head) {
        own = (struct robust_list_head){.list = {&own.list}};
        if (asked && !head) syscall(SYS_set_robust_list, &own, sizeof own);
        head = &own;
    }
    return slr_death_wake_list = head;
}

void slr_death_wake_forget(void) { slr_death_wake_list = NULL; }
