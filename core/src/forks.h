/* SPDX-License-Identifier: Apache-2.0
 *
 * A forked child shares its parent's open file descriptions and would keep the locks on them alive. A fork handler
 * closes the descriptors that hold locks in the child; a handle that remembers the generation it was opened in knows
 * that it is in a child, and refuses to work.
 */
#ifndef SLR_FORKS_H
#define SLR_FORKS_H

#include <stdint.h>

struct slr_watched {
    int *fd[2]; /* closed and set to -1 in a forked child; NULL: none */
    struct slr_watched *next, **link;
};

/* Files are opened and registered between these two, so that no fork falls between. */
void slr_fork_defer(void);
void slr_fork_allow(void);
/* While deferred; other_fd may be NULL. The generation, which a fork changes in the child. */
uint64_t slr_fork_watch(struct slr_watched *watched, int *fd, int *other_fd);
/* Closes them, at once: a child forked between would keep their locks. */
void slr_fork_close(struct slr_watched *watched);
uint64_t slr_fork_generation(void);

#endif
