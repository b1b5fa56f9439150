/* SPDX-License-Identifier: Apache-2.0 */
#include "forks.h"

#include <pthread.h>
#include <unistd.h>

#include "atomics.h"
#include "defects.h"
#include "will.h"

static pthread_mutex_t list_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t handlers_once = PTHREAD_ONCE_INIT;
static struct slr_watched *all;
static _Atomic uint64_t generation = 1;

uint64_t slr_fork_generation(void) { return slr_peek(&generation); }

static void before_fork(void) { pthread_mutex_lock(&list_mutex); }
static void after_fork_in_parent(void) { pthread_mutex_unlock(&list_mutex); }

static void close_files(struct slr_watched *w) {
    for (int i = 0; i < 2; i++) {
        if (!w->fd[i] || *w->fd[i] < 0) continue;
        if (SLR_DEFECT(descriptors_left_without_reader_table) && w->fd[1] && *w->fd[1] < 0) continue;
        close(*w->fd[i]);
        *w->fd[i] = -1;
    }
}

static void after_fork_in_child(void) {
    slr_will_forget();
    slr_poke(&generation, slr_peek(&generation) + 1);
    for (struct slr_watched *w = SLR_DEFECT(forked_child_keeps_locks) ? NULL : all; w; w = w->next) close_files(w);
    pthread_mutex_unlock(&list_mutex);
}

static void install_handlers(void) { pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child); }

void slr_fork_defer(void) {
    pthread_once(&handlers_once, install_handlers);
    pthread_mutex_lock(&list_mutex);
}

void slr_fork_allow(void) { pthread_mutex_unlock(&list_mutex); }

uint64_t slr_fork_watch(struct slr_watched *w, int *fd, int *other_fd) {
    w->fd[0] = fd;
    w->fd[1] = other_fd;
    w->next = all;
    w->link = &all;
    if (all) all->link = &w->next;
    all = w;
    return slr_fork_generation();
}

void slr_fork_close(struct slr_watched *w) {
    pthread_mutex_lock(&list_mutex);
    *w->link = w->next;
    if (w->next) w->next->link = w->link;
    close_files(w);
    pthread_mutex_unlock(&list_mutex);
}
