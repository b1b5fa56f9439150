/* SPDX-License-Identifier: Apache-2.0
 *
 * Open-file-description locks of one byte, as kernel.c has the other calls. A dead thread's are free. Who sees a lock free
 * sees all that its last owner did, as on a real machine: the kernel orders the one after the other.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>

#include "memory.h"
#include "schedules.h"

#define MOST_LOCKS 64

struct lock {
    ino_t file;
    off_t offset;
    int fd, owner; /* fd -1: free */
};

static struct {
    struct {
        struct lock lock[MOST_LOCKS];
        int locks;
    } now, then;
    int setup_owner;
} *l;

void locks_init(void) {
    l = kernel_memory(sizeof *l);
    l->setup_owner = SCHEDULES_NOBODY;
}
void locks_keep(void) {
    l->setup_owner = SCHEDULES_NOBODY;
    l->then = l->now;
}
void locks_restore(void) { l->now = l->then; }
void schedules_owner(int thread) { l->setup_owner = thread; }

static struct lock *lock_at(int fd, off_t offset, int *index) {
    struct stat status;
    if (fstat(fd, &status)) schedules_broken("a lock on no file");
    for (*index = 0; *index < l->now.locks; ++*index)
        if (l->now.lock[*index].file == status.st_ino && l->now.lock[*index].offset == offset) return &l->now.lock[*index];
    if (l->now.locks == MOST_LOCKS) schedules_broken("too many locks");
    l->now.lock[*index] = (struct lock){.file = status.st_ino, .offset = offset, .fd = -1};
    l->now.locks++;
    return &l->now.lock[*index];
}

static void let_go(struct lock *lock, int index) {
    if (schedules_running()) memory_lock_released(index);
    lock->fd = -1;
}

int __real_fcntl(int fd, int call, ...);
int __wrap_fcntl(int fd, int call, ...);
int __wrap_fcntl(int fd, int call, ...) {
    va_list list;
    int index;
    va_start(list, call);
    struct flock *asked = va_arg(list, struct flock *);
    va_end(list);
    if (call != F_OFD_SETLK && call != F_OFD_GETLK) return __real_fcntl(fd, call, asked);
    if (schedules_running()) schedules_point(true);
    struct lock *lock = lock_at(fd, asked->l_start, &index);
    bool held = lock->fd >= 0 && lock->fd != fd && !schedules_crashed(lock->owner);
    if (schedules_running()) {
        memory_lock_seen(index);
        schedules_did(UINT64_C(0x10c4) + held);
    }
    if (call == F_OFD_GETLK) {
        asked->l_type = held ? F_WRLCK : F_UNLCK;
        return 0;
    }
    if (asked->l_type == F_UNLCK) {
        if (lock->fd == fd) let_go(lock, index);
        return 0;
    }
    if (held) return errno = EAGAIN, -1;
    lock->fd = fd;
    lock->owner = schedules_running() ? schedules_self() : l->setup_owner;
    return 0;
}

int __real_close(int fd);
int __wrap_close(int fd);
int __wrap_close(int fd) {
    for (int i = 0; l && i < l->now.locks; i++)
        if (l->now.lock[i].fd == fd) let_go(&l->now.lock[i], i);
    return __real_close(fd);
}

void locks_died(int thread) {
    for (int i = 0; i < l->now.locks; i++)
        if (l->now.lock[i].fd >= 0 && l->now.lock[i].owner == thread) memory_lock_released(i);
}
