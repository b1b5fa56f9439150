/* SPDX-License-Identifier: Apache-2.0
 *
 * Promise 19. Several threads sleep together. One of them is woken at a word of its own and, before it gets a
 * processor, also by the bell of another thread. The kernel reports only one of the two. It must be the word,
 * because the word may announce a crashed process.
 */
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/atomics.h"
#include "wait/sleep.h"
#include "harness.h"

static _Atomic uint32_t words[4];
static _Atomic pid_t tids[2];
static atomic_size_t told[2];
static size_t processors[2];

static void stay_on(size_t processor) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(processor, &set);
    CHECK(sched_setaffinity(0, sizeof set, &set) == 0);
}

static void before(void *context, size_t group) {
    (void)context;
    stay_on(processors[group == 0]);
    atomic_store(&tids[group], (pid_t)syscall(SYS_gettid));
}

static void after(void *context, size_t group, size_t woken) {
    (void)context;
    atomic_store(&told[group], woken);
}

/* It may have ended meanwhile. */
static void schedule(pid_t tid, int policy) {
    CHECK(sched_setscheduler(tid, policy, &(struct sched_param){0}) == 0 || errno == ESRCH);
}

static void wake(size_t word) { syscall(SYS_futex, &words[word], FUTEX_WAKE, 1, NULL, NULL, 0); }

static void *sleep_together(void *ignored) {
    struct slr_futex_word list[4];
    struct slr_sleep_hooks around = {.before = before, .after = after};
    for (size_t i = 0; i < 4; i++) list[i] = slr_futex_word_of(&words[i], 0);
    CHECK_EQ(slr_sleep_in_groups(list, 4, 2, INT64_MAX / 4, &around), 0);
    return ignored;
}

static void run(void) {
    cpu_set_t allowed;
    CHECK(sched_getaffinity(0, sizeof allowed, &allowed) == 0);
    size_t count = 0;
    for (size_t i = 0; i < CPU_SETSIZE && count < 2; i++)
        if (CPU_ISSET(i, &allowed)) processors[count++] = i;
    if (count == 1) processors[1] = processors[0];
    for (int turn = 0; turn < 20; turn++) {
        pthread_t thread;
        atomic_store(&tids[0], 0);
        atomic_store(&tids[1], 0);
        CHECK(pthread_create(&thread, NULL, sleep_together, NULL) == 0);
        for (int i = 0; i < 2; i++)
            while (!atomic_load(&tids[i]) || !asleep(atomic_load(&tids[i]))) pause_us(100);
        stay_on(processors[0]); /* where the second one would have to run, which it does when nobody else wants to */
        schedule(atomic_load(&tids[1]), SCHED_IDLE);
        atomic_store(&told[0], 99);
        atomic_store(&told[1], 99);
        wake(3); /* the second one's last word */
        wake(0);
        /* The first one rings the bell, then waits for the second to end: we keep the processor until then. */
        while (atomic_load(&told[1]) == 99 && (atomic_load(&told[0]) == 99 || !asleep(atomic_load(&tids[0])))) continue;
        schedule(atomic_load(&tids[1]), SCHED_OTHER);
        CHECK(sched_setaffinity(0, sizeof allowed, &allowed) == 0);
        CHECK(pthread_join(thread, NULL) == 0);
        CHECK_EQ(atomic_load(&told[1]), 1);
    }
}

int main(int argc, char **argv) { return harness_main(argc, argv, run); }
