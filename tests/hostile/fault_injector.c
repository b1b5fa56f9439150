/* SPDX-License-Identifier: Apache-2.0
 *
 * A fault injector for whole processes, to be preloaded: the n-th system call of the thread that armed it, of those below,
 * fails with the given error. tests/hostile/fault_trials.py arms it through ctypes. core/tests/faults does
 * the same for the core by linking; this one covers the binding and Python.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>

static _Thread_local struct {
    int armed, left, error;
    char failed[32];
} injector;

void slipring_fault_arm(int n, int error);
const char *slipring_fault_disarm(void);

void slipring_fault_arm(int n, int error) {
    injector.failed[0] = 0;
    injector.left = n;
    injector.error = error;
    injector.armed = 1;
}

/* The call that failed, or "". */
const char *slipring_fault_disarm(void) {
    injector.armed = 0;
    return injector.failed;
}

/* Each call gives only errors that its manual lists. */
static int may_give(const char *errors, int error) {
    static const struct {
        const char *name;
        int error;
    } known[] = {{"ENOSPC", ENOSPC}, {"EMFILE", EMFILE}, {"ENFILE", ENFILE}, {"ENOMEM", ENOMEM}, {"EACCES", EACCES}, {"EINTR", EINTR}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (known[i].error == error) return strstr(errors, known[i].name) != NULL;
    return 0;
}

static int fails(const char *call, const char *errors) {
    if (!injector.armed || !may_give(errors, injector.error) || injector.left-- > 0) return 0;
    injector.armed = 0;
    snprintf(injector.failed, sizeof injector.failed, "%s", call);
    errno = injector.error;
    return 1;
}

#define WRAP(result, name, declared, passed, failure, errors) \
    result name declared; \
    result name declared { \
        static result(*real) declared; \
        if (!real) *(void **)&real = dlsym(RTLD_NEXT, #name); \
        return fails(#name, errors) ? failure : real passed; \
    }

#define OPENING "ENOSPC EMFILE ENFILE ENOMEM EACCES EINTR"
WRAP(int, open, (const char *path, int flags, mode_t mode), (path, flags, mode), -1, OPENING)
WRAP(int, open64, (const char *path, int flags, mode_t mode), (path, flags, mode), -1, OPENING)
WRAP(int, openat, (int at, const char *path, int flags, mode_t mode), (at, path, flags, mode), -1, OPENING)
WRAP(int, openat64, (int at, const char *path, int flags, mode_t mode), (at, path, flags, mode), -1, OPENING)
WRAP(int, flock, (int fd, int how), (fd, how), -1, "EINTR")
WRAP(int, fstatat, (int at, const char *name, struct stat *out, int how), (at, name, out, how), -1, "ENOMEM EACCES")
WRAP(int, fstatat64, (int at, const char *name, struct stat64 *out, int how), (at, name, out, how), -1, "ENOMEM EACCES")
WRAP(int, stat, (const char *name, struct stat *out), (name, out), -1, "ENOMEM EACCES")
WRAP(int, stat64, (const char *name, struct stat64 *out), (name, out), -1, "ENOMEM EACCES")
WRAP(int, lstat, (const char *name, struct stat *out), (name, out), -1, "ENOMEM EACCES")
WRAP(int, lstat64, (const char *name, struct stat64 *out), (name, out), -1, "ENOMEM EACCES")
WRAP(ssize_t, pread, (int fd, void *to, size_t size, off_t at), (fd, to, size, at), -1, "EINTR ENOMEM")
WRAP(ssize_t, pread64, (int fd, void *to, size_t size, off64_t at), (fd, to, size, at), -1, "EINTR ENOMEM")
WRAP(ssize_t, pwrite, (int fd, const void *from, size_t size, off_t at), (fd, from, size, at), -1, "ENOSPC EINTR")
WRAP(ssize_t, pwrite64, (int fd, const void *from, size_t size, off64_t at), (fd, from, size, at), -1, "ENOSPC EINTR")
WRAP(int, fchmod, (int fd, mode_t mode), (fd, mode), -1, "EINTR")
WRAP(int, mkdir, (const char *name, mode_t mode), (name, mode), -1, "ENOSPC EACCES ENOMEM")
WRAP(int, chmod, (const char *name, mode_t mode), (name, mode), -1, "EACCES ENOMEM")
WRAP(int, linkat, (int a, const char *from, int b, const char *to, int how), (a, from, b, to, how), -1, "ENOSPC EACCES ENOMEM")
WRAP(int, renameat, (int a, const char *from, int b, const char *to), (a, from, b, to), -1, "ENOSPC EACCES")
WRAP(int, unlinkat, (int at, const char *name, int how), (at, name, how), -1, "EACCES ENOMEM")
WRAP(void *, opendir, (const char *name), (name), NULL, "EMFILE ENFILE ENOMEM EACCES")
WRAP(void *, fdopendir, (int fd), (fd), NULL, "ENOMEM")

void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t from);
void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t from) {
    static void *(*real)(void *, size_t, int, int, int, off_t);
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "mmap");
    /* Not the mappings of allocators: the memory of Python itself is not under test. */
    if ((fd >= 0 || (flags & 0x4000)) && fails("mmap", "ENOMEM EACCES")) return (void *)-1;
    return real(at, size, protection, flags, fd, from);
}
void *mmap64(void *at, size_t size, int protection, int flags, int fd, off_t from) __attribute__((alias("mmap")));

int posix_fallocate(int fd, off_t from, off_t size);
int posix_fallocate(int fd, off_t from, off_t size) {
    static int (*real)(int, off_t, off_t);
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "posix_fallocate");
    return fails("posix_fallocate", "ENOSPC EINTR") ? errno : real(fd, from, size);
}
int posix_fallocate64(int fd, off_t from, off_t size) __attribute__((alias("posix_fallocate")));

long syscall(long number, ...);
long syscall(long number, ...) {
    static long (*real)(long, ...);
    va_list all;
    long a[6];
    va_start(all, number);
    for (int i = 0; i < 6; i++) a[i] = va_arg(all, long);
    va_end(all);
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "syscall");
    return fails("syscall", "EINTR ENOMEM") ? -1 : real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
