/* SPDX-License-Identifier: Apache-2.0
 *
 * Who is alive. Every participant holds, for life, an open-file-description lock on the first byte of its table
 * entry; the kernel releases it when the process ends, however it ends. No pids, no heartbeats, no time: a stopped
 * process keeps its lock, and pid namespaces do not matter. Forked children let go of their parent's locks (forks.h);
 * exec closes them too (O_CLOEXEC).
 */
#ifndef SLR_PEERS_H
#define SLR_PEERS_H

#include <stdbool.h>
#include <stdint.h>

#include "segment.h"

bool slr_lock_try(int fd, uint64_t offset);
/* After slr_lock_try: whether somebody has it. Else the kernel could not (errno). */
bool slr_lock_refused(void);
void slr_unlock(int fd, uint64_t offset);
/* Held by another open file description. When in doubt: yes. */
bool slr_lock_held(int fd, uint64_t offset);

bool slr_writer_dead(const struct slr_segment *segment, uint32_t entry);
bool slr_reader_dead(const struct slr_segment *segment, uint32_t entry);
bool slr_cursor_attached(const struct slr_segment *segment, uint32_t entry);

#endif
