/* SPDX-License-Identifier: Apache-2.0 */
#include "native.h"

#include <unistd.h>

#ifdef Py_GIL_DISABLED
bool handle_init(struct handle *h) {
    (void)h;
    return true;
}
void handle_clear(struct handle *h) { (void)h; }
void handle_lock(struct handle *h) { PyMutex_Lock(&h->mutex); }
void handle_relock(struct handle *h) { (void)h; }
void handle_unlock(struct handle *h) { PyMutex_Unlock(&h->mutex); }
PyThreadState *handle_release_gil(struct handle *h) {
    (void)h;
    return PyEval_SaveThread();
}
void handle_retake_gil(struct handle *h, PyThreadState *state) {
    (void)h;
    PyEval_RestoreThread(state);
}
#else
bool handle_init(struct handle *h) {
    h->busy_lock = PyThread_allocate_lock();
    if (!h->busy_lock) PyErr_NoMemory();
    return h->busy_lock != NULL;
}

void handle_clear(struct handle *h) {
    if (h->busy_lock) PyThread_free_lock(h->busy_lock);
    h->busy_lock = NULL;
}

/* The busy thread is in the parent process. The handle is useless here; the caller continues and receives ForkedHandle. */
static void forget_busy(struct handle *h) {
    PyThread_type_lock fresh = PyThread_allocate_lock(); /* the inherited lock is never unlocked */
    if (fresh) h->busy_lock = fresh;
    h->busy = false;
}

/* Another thread makes a large copy. */
static COLD void wait_while_busy(struct handle *h) {
    if (h->busy_in != getpid() && !SLR_DEFECT(forked_child_waits_for_copy)) forget_busy(h);
    while (h->busy && !SLR_DEFECT(copies_let_threads_in)) {
        Py_BEGIN_ALLOW_THREADS
        PyThread_acquire_lock(h->busy_lock, WAIT_LOCK);
        PyThread_release_lock(h->busy_lock);
        Py_END_ALLOW_THREADS
    }
}

void handle_lock(struct handle *h) {
    if (h->busy) wait_while_busy(h);
}

void handle_relock(struct handle *h) { handle_lock(h); }
void handle_unlock(struct handle *h) { (void)h; }

PyThreadState *handle_release_gil(struct handle *h) {
    if (!SLR_DEFECT(arguments_let_threads_in)) handle_relock(h);
    PyThread_acquire_lock(h->busy_lock, WAIT_LOCK);
    h->busy = true;
    h->busy_in = getpid();
    return PyEval_SaveThread();
}

void handle_retake_gil(struct handle *h, PyThreadState *state) {
    PyEval_RestoreThread(state);
    h->busy = false;
    PyThread_release_lock(h->busy_lock);
}
#endif
