/* SPDX-License-Identifier: Apache-2.0 */
#include "faults.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

static _Thread_local struct {
    bool armed;
    unsigned left, which;
    struct fault happened;
} injector;

void fault_arm(unsigned n, unsigned k) {
    injector.armed = true;
    injector.left = n;
    injector.which = k;
    injector.happened = (struct fault){0};
}

struct fault fault_disarm(void) {
    injector.armed = false;
    return injector.happened;
}

/* Whether this call is the one; errors end with a 0. */
static bool fails(const char *call, const int *errors) {
    if (!injector.armed || injector.left-- > 0) return false;
    unsigned count = 0;
    while (errors[count]) count++;
    injector.armed = false;
    injector.happened = (struct fault){.call = call, .error = errors[injector.which % count], .more = injector.which + 1 < count};
    errno = injector.happened.error;
    return true;
}

#define ERRORS(...) ((const int[]){__VA_ARGS__, 0})

/* X(result, name, declared arguments, passed arguments, result of a failure, errors) */
#define PLAIN_CALLS(X) \
    X(int, fstat, (int fd, struct stat *out), (fd, out), -1, ERRORS(ENOMEM)) \
    X(int, fstat64, (int fd, struct stat *out), (fd, out), -1, ERRORS(ENOMEM)) \
    X(int, fstatat, (int at, const char *name, struct stat *out, int how), (at, name, out, how), -1, ERRORS(ENOMEM, EACCES)) \
    X(int, fstatat64, (int at, const char *name, struct stat *out, int how), (at, name, out, how), -1, ERRORS(ENOMEM, EACCES)) \
    X(ssize_t, read, (int fd, void *to, size_t size), (fd, to, size), -1, ERRORS(EINTR, EIO)) \
    X(ssize_t, pread, (int fd, void *to, size_t size, off_t at), (fd, to, size, at), -1, ERRORS(EINTR, EIO, ENOMEM)) \
    X(ssize_t, pread64, (int fd, void *to, size_t size, off_t at), (fd, to, size, at), -1, ERRORS(EINTR, EIO, ENOMEM)) \
    X(ssize_t, pwrite, (int fd, const void *from, size_t size, off_t at), (fd, from, size, at), -1, ERRORS(ENOSPC, EINTR, EIO)) \
    X(ssize_t, pwrite64, (int fd, const void *from, size_t size, off_t at), (fd, from, size, at), -1, ERRORS(ENOSPC, EINTR, EIO)) \
    X(int, fchmod, (int fd, mode_t mode), (fd, mode), -1, ERRORS(EPERM, EINTR)) \
    X(int, linkat, (int a, const char *from, int b, const char *to, int how), (a, from, b, to, how), -1, ERRORS(ENOSPC, EACCES, ENOMEM)) \
    X(int, renameat, (int a, const char *from, int b, const char *to), (a, from, b, to), -1, ERRORS(ENOSPC, EACCES)) \
    X(int, unlinkat, (int at, const char *name, int how), (at, name, how), -1, ERRORS(EACCES, ENOMEM)) \
    X(void *, mmap, (void *at, size_t size, int p, int how, int fd, off_t from), (at, size, p, how, fd, from), (void *)-1, ERRORS(ENOMEM, EACCES)) \
    X(void *, mmap64, (void *at, size_t size, int p, int how, int fd, off_t from), (at, size, p, how, fd, from), (void *)-1, ERRORS(ENOMEM, EACCES)) \
    X(void *, malloc, (size_t size), (size), NULL, ERRORS(ENOMEM)) \
    X(void *, calloc, (size_t count, size_t size), (count, size), NULL, ERRORS(ENOMEM)) \
    X(char *, strdup, (const char *text), (text), NULL, ERRORS(ENOMEM)) \
    X(int, nanosleep, (const struct timespec *how_long, struct timespec *left), (how_long, left), -1, ERRORS(EINTR)) \
    X(ssize_t, getrandom, (void *to, size_t size, unsigned how), (to, size, how), -1, ERRORS(EINTR, ENOMEM))

#define WRAP(result, name, declared, passed, failure, errors) \
    result __real_##name declared; \
    result __wrap_##name declared; \
    result __wrap_##name declared { return fails(#name, errors) ? failure : __real_##name passed; }
PLAIN_CALLS(WRAP)

/* Those that return their error, or take arguments without number. */
#define WRAP_FALLOCATE(name) \
    int __real_##name(int fd, off_t from, off_t size); \
    int __wrap_##name(int fd, off_t from, off_t size); \
    int __wrap_##name(int fd, off_t from, off_t size) { \
        return fails(#name, ERRORS(ENOSPC, EINTR, ENOMEM)) ? errno : __real_##name(fd, from, size); \
    }
WRAP_FALLOCATE(posix_fallocate)
WRAP_FALLOCATE(posix_fallocate64)

int __real_flock(int fd, int how);
int __wrap_flock(int fd, int how);
int __wrap_flock(int fd, int how) {
    return fails(how & LOCK_UN ? "flock, to unlock" : "flock", ERRORS(EINTR, ENOLCK)) ? -1 : __real_flock(fd, how);
}

#define WRAP_OPENAT(name) \
    int __real_##name(int at, const char *path, int flags, mode_t mode); \
    int __wrap_##name(int at, const char *path, int flags, mode_t mode); \
    int __wrap_##name(int at, const char *path, int flags, mode_t mode) { \
        const int *errors = (flags & O_TMPFILE) == O_TMPFILE ? ERRORS(ENOSPC, EMFILE, ENFILE, ENOMEM, EACCES, EINTR) \
                                                             : ERRORS(EMFILE, ENFILE, ENOMEM, EACCES, EINTR); \
        return fails(#name, errors) ? -1 : __real_##name(at, path, flags, mode); \
    }
WRAP_OPENAT(openat)
WRAP_OPENAT(openat64)

#define WRAP_OPEN(name) \
    int __real_##name(const char *path, int flags, mode_t mode); \
    int __wrap_##name(const char *path, int flags, mode_t mode); \
    int __wrap_##name(const char *path, int flags, mode_t mode) { \
        return fails(#name, ERRORS(EMFILE, ENFILE, ENOMEM, EACCES, EINTR)) ? -1 : __real_##name(path, flags, mode); \
    }
WRAP_OPEN(open)
WRAP_OPEN(open64)

#define WRAP_FCNTL(name) \
    int __real_##name(int fd, int command, void *argument); \
    int __wrap_##name(int fd, int command, void *argument); \
    int __wrap_##name(int fd, int command, void *argument) { \
        const char *what = command == F_OFD_GETLK ? "fcntl, to ask for a lock" : "fcntl"; \
        if (command != F_OFD_GETLK && ((struct flock *)argument)->l_type == F_UNLCK) what = "fcntl, to unlock"; \
        return fails(what, ERRORS(ENOLCK, ENOMEM, EINTR)) ? -1 : __real_##name(fd, command, argument); \
    }
WRAP_FCNTL(fcntl)
WRAP_FCNTL(fcntl64)

long __real_syscall(long number, long a, long b, long c, long d, long e, long f);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f) {
    return fails("syscall", ERRORS(EINTR, ENOMEM)) ? -1 : __real_syscall(number, a, b, c, d, e, f);
}

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*run)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*run)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*run)(void *), void *argument) {
    return fails("pthread_create", ERRORS(EAGAIN)) ? EAGAIN : __real_pthread_create(thread, how, run, argument);
}
