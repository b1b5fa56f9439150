/* SPDX-License-Identifier: Apache-2.0
 *
 * A few dead objects of a type are kept for the next ones, with their reference to the type: half of what a small object costs
 * is its memory. Under the GIL only.
 */
#ifndef SLIPRING_KEPT_H
#define SLIPRING_KEPT_H

#include <Python.h>
#include <stdbool.h>

#ifdef Py_GIL_DISABLED
#define KEPT 0
#else
#define KEPT 64
#endif

struct kept {
    PyObject *objects[KEPT + 1];
    int count;
};

/* A new reference to one of them, whose fields are to be set; or NULL: make another. */
static inline void *kept_take(struct kept *kept) {
    if (kept->count == 0) return NULL;
    PyObject *object = kept->objects[--kept->count];
    Py_SET_REFCNT(object, 1);
    return object;
}

/* At the end of its dealloc, when its fields refer to nothing; or frees it. */
static inline void kept_give(struct kept *kept, PyObject *object) {
    if (kept->count < KEPT) {
        kept->objects[kept->count++] = object;
        return;
    }
    PyTypeObject *type = Py_TYPE(object);
    PyObject_Free(object);
    Py_DECREF(type);
}

#endif
