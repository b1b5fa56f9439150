/* SPDX-License-Identifier: Apache-2.0 */
#include "peers.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

static struct flock one_byte(uint64_t offset, short type) {
    return (struct flock){.l_type = type, .l_whence = SEEK_SET, .l_start = (off_t)offset, .l_len = 1};
}

bool slr_lock_try(int fd, uint64_t offset) {
    struct flock lock = one_byte(offset, F_WRLCK);
    return fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

void slr_unlock(int fd, uint64_t offset) {
    struct flock lock = one_byte(offset, F_UNLCK);
    fcntl(fd, F_OFD_SETLK, &lock);
}

bool slr_lock_held(int fd, uint64_t offset) {
    struct flock lock = one_byte(offset, F_WRLCK);
    return fcntl(fd, F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

bool slr_writer_dead(const struct slr_segment *segment, uint32_t entry) {
    return !slr_lock_held(segment->ring_fd, slr_segment_writer_offset(entry));
}

bool slr_reader_dead(const struct slr_segment *segment, uint32_t entry) {
    return !slr_lock_held(segment->readers_fd, slr_segment_reader_offset(entry));
}

bool slr_cursor_attached(const struct slr_segment *segment, uint32_t entry) {
    return slr_lock_held(segment->readers_fd, slr_segment_cursor_offset(segment, entry));
}

static pthread_mutex_t list_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t handlers_once = PTHREAD_ONCE_INIT;
static struct slr_segment *segments;
static _Atomic uint64_t generation = 1;

uint64_t slr_fork_generation(void) { return slr_peek(&generation); }

static void before_fork(void) { pthread_mutex_lock(&list_mutex); }
static void after_fork_in_parent(void) { pthread_mutex_unlock(&list_mutex); }

static void after_fork_in_child(void) {
    slr_poke(&generation, slr_peek(&generation) + 1);
    for (struct slr_segment *s = segments; s; s = s->next) {
        close(s->ring_fd);
        close(s->readers_fd);
        s->ring_fd = s->readers_fd = -1;
    }
    pthread_mutex_unlock(&list_mutex);
}

static void install_handlers(void) { pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child); }

void slr_fork_defer(void) {
    pthread_once(&handlers_once, install_handlers);
    pthread_mutex_lock(&list_mutex);
}

void slr_fork_allow(void) { pthread_mutex_unlock(&list_mutex); }

void slr_fork_watch(struct slr_segment *segment) {
    segment->fork_generation = slr_fork_generation();
    segment->next = segments;
    segment->link = &segments;
    if (segments) segments->link = &segment->next;
    segments = segment;
}

void slr_fork_unwatch(struct slr_segment *segment) {
    pthread_mutex_lock(&list_mutex);
    *segment->link = segment->next;
    if (segment->next) segment->next->link = segment->link;
    pthread_mutex_unlock(&list_mutex);
}
