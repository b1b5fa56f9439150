/* SPDX-License-Identifier: Apache-2.0
 *
 * The system calls of the core, each of them a step (-Wl,--wrap). Wake-ups are counted by the word they are for; the
 * clock of the day stands still and everybody has the same number, so that equal states are equal bytes.
 */
#include <fcntl.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "steps.h"
#include "syscall_words.h"

/* Places of the futex words in their pages: <topic>.readers has two, a file of cells one. */
enum { WAKE_OFFSET = 64, SPACE_OFFSET = 128, CELLS_WAKE_OFFSET = 320 };

uint32_t *step_wakes;
int64_t *step_clock_ns;

/* WRAPPED(type, name, parameters, arguments): a step around the real one */
#define WRAPPED(type, name, parameters, arguments) \
    type __real_##name parameters; \
    type __wrap_##name parameters; \
    type __wrap_##name parameters { \
        step_before(); \
        type result = __real_##name arguments; \
        step_after(); \
        return result; \
    }

WRAPPED(int, linkat, (int from, const char *a, int to, const char *b, int flags), (from, a, to, b, flags))
WRAPPED(int, unlinkat, (int directory, const char *name, int flags), (directory, name, flags))
WRAPPED(int, renameat, (int from, const char *a, int to, const char *b), (from, a, to, b))
WRAPPED(int, posix_fallocate, (int fd, off_t offset, off_t size), (fd, offset, size))
WRAPPED(int, fchmod, (int fd, mode_t mode), (fd, mode))
WRAPPED(int, flock, (int fd, int how), (fd, how))
WRAPPED(int, close, (int fd), (fd))
WRAPPED(ssize_t, pwrite, (int fd, const void *from, size_t size, off_t offset), (fd, from, size, offset))
WRAPPED(int, munmap, (void *address, size_t size), (address, size))
WRAPPED(void *, mmap, (void *address, size_t size, int protection, int flags, int fd, off_t offset),
        (address, size, protection, flags, fd, offset))

/* The last argument of the variadic ones is a word, if there is one. */
#define VARIADIC(name, parameters, arguments) \
    int __real_##name parameters; \
    int __wrap_##name parameters; \
    int __wrap_##name parameters { \
        va_list list; \
        va_start(list, last); \
        uintptr_t word = va_arg(list, uintptr_t); \
        va_end(list); \
        step_before(); \
        int result = __real_##name arguments; \
        step_after(); \
        return result; \
    }
VARIADIC(open, (const char *path, int last, ...), (path, last, word))
VARIADIC(openat, (int directory, const char *path, int last, ...), (directory, path, last, word))
VARIADIC(fcntl, (int fd, int last, ...), (fd, last, word))

static void count_wake(uintptr_t word) {
    uintptr_t place = word & 4095;
    if (!step_wakes) return;
    if (place == WAKE_OFFSET || place == CELLS_WAKE_OFFSET) step_wakes[0]++;
    if (place == SPACE_OFFSET) step_wakes[1]++;
}

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);
long __wrap_syscall(long number, ...) {
    va_list list;
    uintptr_t a[SYSCALL_WORDS];
    va_start(list, number);
    syscall_words(list, a);
    va_end(list);
    if (number == SYS_fork) return __real_syscall(number);
    /* Once in a thread's life, and nothing that others see: a step would be one in the first run only. */
    if (number == SYS_get_robust_list || number == SYS_set_robust_list) return __real_syscall(number, a[0], a[1], a[2]);
    step_before();
    long result = __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    if (number == SYS_futex && ((int)a[1] & FUTEX_CMD_MASK) == FUTEX_WAKE) count_wake(a[0]);
    step_after();
    return result;
}

int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now) {
    int result = __real_clock_gettime(clock, now);
    if (clock == CLOCK_REALTIME && step_clock_ns)
        *now = (struct timespec){.tv_sec = *step_clock_ns / 1000000000, .tv_nsec = *step_clock_ns % 1000000000};
    return result;
}

uint64_t *step_random;

ssize_t __real_getrandom(void *to, size_t size, unsigned flags);
ssize_t __wrap_getrandom(void *to, size_t size, unsigned flags);
ssize_t __wrap_getrandom(void *to, size_t size, unsigned flags) {
    if (!step_random || size != sizeof *step_random) return __real_getrandom(to, size, flags);
    ++*step_random;
    memcpy(to, step_random, size);
    return (ssize_t)size;
}

pid_t __wrap_getpid(void);
pid_t __wrap_getpid(void) { return 4711; } /* steps.c asks the real one */
