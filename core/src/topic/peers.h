/* SPDX-License-Identifier: Apache-2.0
 *
 * Liveness of processes. Every participant holds an open-file-description lock on the first byte of its table entry from
 * open to close. The kernel releases the lock when the process ends, for any reason. Pids, heartbeats and time are not
 * used: a stopped process keeps its lock, and pid namespaces do not matter. exec closes the descriptors (O_CLOEXEC).
 *
 * A forked child shares the open file descriptions of its parent and would keep the locks. A fork handler closes the
 * descriptors that hold locks in the child. A handle stores the fork generation in which it was opened; with another
 * generation it is in a child and refuses to work.
 */
#ifndef SLR_TOPIC_PEERS_H
#define SLR_TOPIC_PEERS_H

#include <stdbool.h>
#include <stdint.h>

struct slr_segment;

bool slr_lock_try(int fd, uint64_t offset);
/* After slr_lock_try failed: whether another process has the lock. Otherwise the call itself failed (errno). */
bool slr_lock_refused(void);
void slr_unlock(int fd, uint64_t offset);
/* Whether another open file description holds the lock; true if the call fails. */
bool slr_lock_held(int fd, uint64_t offset);

bool slr_writer_dead(const struct slr_segment *segment, uint32_t entry);
bool slr_reader_dead(const struct slr_segment *segment, uint32_t entry);
bool slr_cursor_attached(const struct slr_segment *segment, uint32_t entry);

struct slr_fork_handle {
    int *fd[2]; /* closed and set to -1 in a forked child; NULL: none */
    struct slr_fork_handle *next, **link;
};

/* Files are opened and registered between these two calls, so that no fork happens in between. */
void slr_fork_defer(void);
void slr_fork_allow(void);
/* While forks are deferred; other_fd may be NULL. Returns the generation, which a fork changes in the child. */
uint64_t slr_fork_register(struct slr_fork_handle *fork_handle, int *fd, int *other_fd);
/* Close the files under the same lock: a child forked in between would keep their locks. */
void slr_fork_close(struct slr_fork_handle *fork_handle);
uint64_t slr_fork_generation(void);

#endif
