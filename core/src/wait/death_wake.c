/* SPDX-License-Identifier: Apache-2.0 */
#include "wait/death_wake.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

_Thread_local struct robust_list_head *slr_death_wake_list SLR_DEATH_WAKE_TLS;
/* For a thread of which the kernel knows no list (musl, until the thread locks a robust mutex). If we may not ask, there may
 * be another's, which is not to be replaced; then, or if the kernel will not have ours, it stays without effect: sleepers
 * find what we leave when their slices end. */
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
