/* SPDX-License-Identifier: Apache-2.0
 *
 * Locks on single bytes of a file, and the list of handles whose files a forked child closes. peers.h has the contract.
 *
 * A fork waits while a file is opened and entered in the list, or closed. Otherwise the child would have a descriptor that its fork
 * handler does not know, and keep the lock.
 */
#include "topic/peers.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include "base/atomics.h"
#include "base/defects.h"
#include "base/eintr.h"
#include "topic/segment.h"
#include "wait/death_wake.h"

#define UNLOCK_ATTEMPTS 100

static struct flock one_byte(uint64_t offset, short type) {
    return (struct flock){.l_type = type, .l_whence = SEEK_SET, .l_start = (off_t)offset, .l_len = 1};
}

bool slr_lock_try(int fd, uint64_t offset) {
    struct flock lock = one_byte(offset, F_WRLCK);
    int failed;
    SLR_RETRY_EINTR(failed, fcntl(fd, F_OFD_SETLK, &lock));
    return !failed;
}

bool slr_lock_refused(void) { return errno == EAGAIN || errno == EACCES || SLR_DEFECT(failed_lock_counts_as_refused); }

void slr_unlock(int fd, uint64_t offset) {
    struct flock lock = one_byte(offset, F_UNLCK);
    for (int i = 0; i < UNLOCK_ATTEMPTS && fcntl(fd, F_OFD_SETLK, &lock); i++) continue; /* other processes wait for the lock */
}

bool slr_lock_held(int fd, uint64_t offset) {
    struct flock lock = one_byte(offset, F_WRLCK);
    int failed;
    SLR_RETRY_EINTR(failed, fcntl(fd, F_OFD_GETLK, &lock));
    return failed || (lock.l_type != F_UNLCK && !SLR_DEFECT(the_living_count_as_dead));
}

bool slr_writer_dead(const struct slr_segment *segment, uint32_t entry) {
    return !SLR_DEFECT(dead_writers_not_noticed) && !slr_lock_held(segment->ring_fd, slr_segment_writer_offset(entry));
}

bool slr_reader_dead(const struct slr_segment *segment, uint32_t entry) {
    return !SLR_DEFECT(dead_readers_not_noticed) && !slr_lock_held(segment->readers_fd, slr_segment_reader_offset(entry));
}

bool slr_cursor_attached(const struct slr_segment *segment, uint32_t entry) {
    return slr_lock_held(segment->readers_fd, slr_segment_cursor_offset(segment, entry));
}

static pthread_mutex_t list_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t handlers_once = PTHREAD_ONCE_INIT;
static struct slr_fork_handle *all;
static _Atomic uint64_t generation = 1;

uint64_t slr_fork_generation(void) { return slr_load_relaxed(&generation); }

static void before_fork(void) { pthread_mutex_lock(&list_mutex); }
static void after_fork_in_parent(void) { pthread_mutex_unlock(&list_mutex); }

static void close_files(struct slr_fork_handle *w) {
    for (int i = 0; i < 2; i++) {
        if (!w->fd[i] || *w->fd[i] < 0) continue;
        if (SLR_DEFECT(descriptors_left_without_reader_table) && w->fd[1] && *w->fd[1] < 0) continue;
        close(*w->fd[i]);
        *w->fd[i] = -1;
    }
}

static void after_fork_in_child(void) {
    slr_death_wake_forget();
    slr_store_relaxed(&generation, slr_load_relaxed(&generation) + 1);
    for (struct slr_fork_handle *w = SLR_DEFECT(forked_child_keeps_locks) ? NULL : all; w; w = w->next) close_files(w);
    pthread_mutex_unlock(&list_mutex);
}

static void install_handlers(void) { pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child); }

void slr_fork_defer(void) {
    pthread_once(&handlers_once, install_handlers);
    pthread_mutex_lock(&list_mutex);
}

void slr_fork_allow(void) { pthread_mutex_unlock(&list_mutex); }

uint64_t slr_fork_register(struct slr_fork_handle *w, int *fd, int *other_fd) {
    w->fd[0] = fd;
    w->fd[1] = other_fd;
    w->next = all;
    w->link = &all;
    if (all) all->link = &w->next;
    all = w;
    return slr_fork_generation();
}

void slr_fork_close(struct slr_fork_handle *w) {
    pthread_mutex_lock(&list_mutex);
    *w->link = w->next;
    if (w->next) w->next->link = w->link;
    close_files(w);
    pthread_mutex_unlock(&list_mutex);
}
