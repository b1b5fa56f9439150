/* SPDX-License-Identifier: Apache-2.0
 *
 * An imitation of the kernel calls that a run needs. Their results can be decided, restored and repeated.
 * Each call below is linked with -Wl,--wrap=.
 *
 *   futexes  sleepers of scheduler.c. The pending entry in the robust list of a dying thread wakes one
 *            sleeper.
 *   clocks   time passes a little at each read of the clock. If all threads sleep, it passes to the earliest
 *            deadline.
 *   memory   handles live in an arena. The arena and the variables of this program are restored before each
 *            run.
 */
#include <errno.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../../harness/syscall_words.h"
#include "wait/sleep.h"
#include "memory.h"
#include "schedules.h"

#define ARENA (4u << 20)
#define LOOK_NS 30000 /* longer than the core spins, so that it spins once */
#define LONG_SLEEP_NS INT64_C(4000000)

struct kept { /* of one moment */
    int next_fd;
    bool opened; /* files, since then */
    int64_t now_ns;
    size_t arena_used;
};

static struct {
    struct kept now, then;
    int highest_fd;
    struct robust_list_head robust; /* of the thread that runs */
    struct robust_list *pending[SCHEDULES_MOST_THREADS];
    uint8_t *arena, *arena_then, *variables_then;
} *k;

extern uint8_t __data_start[], _end[];

void *__real_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset);
void *kernel_memory(size_t size) {
    void *p = __real_mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) abort();
    return p;
}

void kernel_init(void) {
    k = kernel_memory(sizeof *k);
    k->arena_then = kernel_memory(ARENA);
    k->variables_then = kernel_memory((size_t)(_end - __data_start));
    k->now.now_ns = 1000000000;
    k->arena = kernel_memory(ARENA);
    locks_init();
}

int __real_close(int fd);
void kernel_keep(void) {
    while ((k->now.next_fd = dup(0)) < k->highest_fd) continue; /* no gaps below */
    __real_close(k->now.next_fd);
    k->now.opened = false;
    locks_keep();
    k->then = k->now;
    memcpy(k->arena_then, k->arena, k->now.arena_used);
    memcpy(k->variables_then, __data_start, (size_t)(_end - __data_start));
}

void kernel_restore(void) {
    if (k->now.opened) close_range((unsigned)k->then.next_fd, ~0u, 0); /* also those of crashed threads */
    locks_restore();
    memset(k->pending, 0, sizeof k->pending);
    k->robust.list_op_pending = NULL;
    k->now = k->then;
    memcpy(k->arena, k->arena_then, k->now.arena_used);
    memcpy(__data_start, k->variables_then, (size_t)(_end - __data_start));
}

static bool within(const volatile void *p, const void *from, size_t size) {
    return (uintptr_t)p - (uintptr_t)from < size;
}

bool schedules_private(const volatile void *p) {
    return within(p, k->arena, ARENA) || within(p, __data_start, (size_t)(_end - __data_start));
}
bool schedules_shared(const volatile void *p) { return schedules_running() && !schedules_private(p); }

/* Arena ------------------------------------------------------------------------------------------------------- */

void *__real_malloc(size_t size);
void __real_free(void *p);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void __wrap_free(void *p);

void *__wrap_malloc(size_t size) {
    if (!k) return __real_malloc(size);
    void *p = k->arena + k->now.arena_used;
    k->now.arena_used += (size + 63) & ~(size_t)63;
    if (k->now.arena_used > ARENA) schedules_broken("the arena is full");
    return p;
}
void *__wrap_calloc(size_t count, size_t size) { return memset(__wrap_malloc(count * size), 0, count * size); }
void __wrap_free(void *p) {
    if (!k || !within(p, k->arena, ARENA)) __real_free(p);
}

/* Clocks ------------------------------------------------------------------------------------------------------ */

int __wrap_clock_gettime(clockid_t clock, struct timespec *out);
int __wrap_clock_gettime(clockid_t clock, struct timespec *out) {
    /* Of the day, it stands still: so nobody measures how fast it goes. */
    int64_t ns = clock == CLOCK_MONOTONIC ? (k->now.now_ns += LOOK_NS) : INT64_C(1700000000000000000);
    if (schedules_running()) schedules_did((uint64_t)ns);
    *out = (struct timespec){.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
    return 0;
}
void kernel_passed_until(int64_t ns) {
    if (k->now.now_ns < ns) k->now.now_ns = ns;
}

/* Futexes ----------------------------------------------------------------------------------------------------- */

static long sleep_queued(const struct timespec *limit) {
    int64_t until = limit ? (int64_t)limit->tv_sec * 1000000000 + limit->tv_nsec : INT64_MAX;
    schedules_sleep(until, until - k->now.now_ns >= LONG_SLEEP_NS);
    int woken = schedules_unqueue();
    return woken < 0 ? (errno = ETIMEDOUT, -1) : woken;
}

/* Looks and queues in one step. */
static bool queue_if(int index, const void *word, uint32_t value) {
    schedules_point(true);
    schedules_did(memory_newest(word, 4));
    if (memory_newest(word, 4) != value) return false;
    schedules_queue(index, word);
    return true;
}

static long futex(uint32_t *word, int call, uint32_t value, const struct timespec *limit) {
    if (!schedules_running()) return 0;
    if ((call & FUTEX_CMD_MASK) == FUTEX_WAKE) {
        schedules_point(true);
        int woken = schedules_wake(word, SCHEDULES_MOST_THREADS);
        schedules_did(UINT64_C(0xfa4e) + (uint64_t)woken);
        return woken;
    }
    if (!queue_if(0, word, value)) return errno = EAGAIN, -1;
    return sleep_queued(limit) < 0 ? -1 : 0;
}

/* In their order; others go on between. */
static long futex_waitv(const struct slr_futex_word *words, int count, const struct timespec *limit) {
    if (!schedules_running()) return 0;
    for (int i = 0; i < count; i++) {
        if (queue_if(i, (const void *)(uintptr_t)words[i].address, (uint32_t)words[i].value)) continue;
        int woken = i ? schedules_unqueue() : -1;
        return woken < 0 ? (errno = EAGAIN, -1) : woken;
    }
    return sleep_queued(limit);
}

static long robust_list(struct robust_list_head **head, size_t *size) {
    *head = &k->robust;
    *size = sizeof k->robust;
    return 0;
}

void kernel_switched(int from, int to) {
    k->pending[from] = k->robust.list_op_pending;
    k->robust.list_op_pending = k->pending[to];
}

void kernel_died(int thread) {
    uint32_t *word = (uint32_t *)((uintptr_t)k->robust.list_op_pending + (uintptr_t)k->robust.futex_offset);
    (void)thread;
    if (k->robust.list_op_pending && !(memory_newest(word, 4) & FUTEX_TID_MASK)) schedules_wake(word, 1);
    k->robust.list_op_pending = NULL;
}

long __wrap_syscall(long number, ...);
long __wrap_syscall(long number, ...) {
    va_list list;
    uintptr_t a[SYSCALL_WORDS];
    va_start(list, number);
    syscall_words(list, a);
    va_end(list);
    if (number == SYS_get_robust_list) return robust_list((struct robust_list_head **)a[1], (size_t *)a[2]);
    if (number == SYS_futex_waitv) return futex_waitv((const struct slr_futex_word *)a[0], (int)a[1], (const struct timespec *)a[3]);
    if (number != SYS_futex) schedules_broken("an unknown system call by number");
    return futex((uint32_t *)a[0], (int)a[1], (uint32_t)a[2], (const struct timespec *)a[3]);
}

/* Files ------------------------------------------------------------------------------------------------------- */

int __real_openat(int directory, const char *path, int flags, ...);
int __wrap_openat(int directory, const char *path, int flags, ...);
int __wrap_openat(int directory, const char *path, int flags, ...) {
    va_list list;
    va_start(list, flags);
    mode_t mode = va_arg(list, mode_t);
    va_end(list);
    int fd = __real_openat(directory, path, flags, mode);
    if (k) k->now.opened = true;
    if (k && fd > k->highest_fd) k->highest_fd = fd;
    return fd;
}
