/* SPDX-License-Identifier: Apache-2.0 */
#include "peers.h"

#include <errno.h>
#include <fcntl.h>

#include "defects.h"
#include "interrupted.h"

#define UNLOCK_ATTEMPTS 100

static struct flock one_byte(uint64_t offset, short type) {
    return (struct flock){.l_type = type, .l_whence = SEEK_SET, .l_start = (off_t)offset, .l_len = 1};
}

bool slr_lock_try(int fd, uint64_t offset) {
    struct flock lock = one_byte(offset, F_WRLCK);
    int failed;
    SLR_AGAIN(failed, fcntl(fd, F_OFD_SETLK, &lock));
    return !failed;
}

bool slr_lock_refused(void) { return errno == EAGAIN || errno == EACCES || SLR_DEFECT(failed_lock_counts_as_refused); }

void slr_unlock(int fd, uint64_t offset) {
    struct flock lock = one_byte(offset, F_UNLCK);
    for (int i = 0; i < UNLOCK_ATTEMPTS && fcntl(fd, F_OFD_SETLK, &lock); i++) continue; /* others wait for it */
}

bool slr_lock_held(int fd, uint64_t offset) {
    struct flock lock = one_byte(offset, F_WRLCK);
    int failed;
    SLR_AGAIN(failed, fcntl(fd, F_OFD_GETLK, &lock));
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
