/* SPDX-License-Identifier: Apache-2.0
 *
 * Who is alive. Every participant holds, for life, an open-file-description lock on the first byte of its table
 * entry; the kernel releases it when the process ends, however it ends. No pids, no heartbeats, no time: a stopped
 * process keeps its lock, and pid namespaces do not matter. Forked children let go of their parent's locks (peers.h);
 * exec closes them too (O_CLOEXEC).
 *
 * A forked child shares its parent's open file descriptions and would keep the locks on them alive. A fork handler
 * closes the descriptors that hold locks in the child; a handle that remembers the generation it was opened in knows
 * that it is in a child, and refuses to work.
 */
#ifndef SLR_TOPIC_PEERS_H
#define SLR_TOPIC_PEERS_H

#include <stdbool.h>
#include <stdint.h>

struct slr_segment;

bool slr_lock_try(int fd, uint64_t offset);
/* After slr_lock_try: whether somebody has it. Else the kernel could not (errno). */
bool slr_lock_refused(void);
void slr_unlock(int fd, uint64_t offset);
/* Held by another open file description. When in doubt: yes. */
bool slr_lock_held(int fd, uint64_t offset);

bool slr_writer_dead(const struct slr_segment *segment, uint32_t entry);
bool slr_reader_dead(const struct slr_segment *segment, uint32_t entry);
bool slr_cursor_attached(const struct slr_segment *segment, uint32_t entry);

struct slr_fork_handle {
    int *fd[2]; /* closed and set to -1 in a forked child; NULL: none */
    struct slr_fork_handle *next, **link;
};

/* Files are opened and registered between these two, so that no fork falls between. */
void slr_fork_defer(void);
void slr_fork_allow(void);
/* While deferred; other_fd may be NULL. The generation, which a fork changes in the child. */
uint64_t slr_fork_register(struct slr_fork_handle *fork_handle, int *fd, int *other_fd);
/* Closes them, at once: a child forked between would keep their locks. */
void slr_fork_close(struct slr_fork_handle *fork_handle);
uint64_t slr_fork_generation(void);

#endif
